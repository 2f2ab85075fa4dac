// Enforces rules with the kernel's nf_tables: sets of elements that live as long as their rules,
// and a few rules that look packets up in them.
//
// A change is answered when the kernel has acknowledged it. Elements carry timeouts, so that what a
// killed middlebox leaves behind ends with the lifetimes that it granted. What others do to the
// table is noticed by the ruleset's generation, which counts every commit in the network namespace:
// each of our commits names the generation that it builds on, and when nothing is to be done the
// kernel is asked for it now and then. (Notifications would say the same, but the kernel makes them
// for our own commits too: an element then costs 3.4 us instead of 1.3 us.)
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/backend/nftables/conntrack.hpp"
#include "middlebox/backend/nftables/element_store.hpp"
#include "middlebox/backend/nftables/element_writer.hpp"
#include "middlebox/backend/nftables/inspection.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/ruleset.hpp"
#include "middlebox/backend/nftables/table_lock.hpp"
#include "middlebox/backend/nftables/table_state.hpp"

namespace simco::backend::nftables {

class NftablesBackend final : public Backend, private Conntrack::Rules {
 public:
  /// Makes sure of the kernel, the interfaces and that nobody else has the table. Throws
  /// std::runtime_error with a sentence that says what to do where it cannot.
  NftablesBackend(boost::asio::io_context& io, const Options& options);
  NftablesBackend(const NftablesBackend&) = delete;
  NftablesBackend& operator=(const NftablesBackend&) = delete;

  std::string_view name() const override { return "nftables"; }
  Capabilities capabilities() const override { return full_packet_filter(); }
  bool alive() override;
  std::vector<ChangeResult> begin(std::span<const RuleChange> rules) override;
  void apply(std::span<const RuleChange> batch, Client& client) override;
  /// Removes everything it made from the kernel, unless told to keep it.
  void end() override;

 private:
  using Outcome = NetlinkSocket::Outcome;
  using Placed = std::vector<std::pair<ElementStore*, Element>>;
  /// The elements of a change, in elements_.
  struct Made {
    std::size_t begin;
    std::size_t end;
    bool possible;
  };

  // nftables_plan.cpp: what a change means for elements. Stores change at once, undo() takes that
  // back.
  /// Plans the changes of `batch` from `begin` on until the commit is large enough; answers where
  /// it stopped.
  std::uint32_t plan(std::span<const RuleChange> batch, std::uint32_t begin, std::uint32_t end);
  /// Fills elements_ and made_ for `changes`.
  void make_ahead(std::span<const RuleChange> changes);
  ChangeResult plan(const RuleChange& change, const Made& made, std::uint32_t index);
  // Where elements are to go, or are: into placed_.
  ChangeResult place_new(const Element& element, std::uint32_t owner);
  /// The same for an element that has no room in a set of its shape.
  ChangeResult place_as_intervals(const Element& element, std::uint32_t owner);
  ChangeResult place_interval(const Element& element, std::uint32_t owner);
  /// Remembers that there is no set for the element yet.
  ChangeResult need_set(const Shape& shape, std::uint32_t owner);
  /// Plans rules that were there before, whichever sets they were in.
  void plan_restored(std::span<const RuleChange> rules);
  void plan_large_range(std::span<const RuleChange> rules, std::uint32_t index);
  void place_old(std::span<const Element> elements, PolicyRuleId pid);
  ElementStore* find_store(const Shape& shape);
  bool allow(const Ends& ends) const override;
  bool translate(const Translation& flow) const override;
  /// Is there room for another set like that, for a rule of `owner`?
  bool room_for(const Shape& shape, std::uint32_t owner) const;
  void add_holder(ElementStore& store, const Element& element, const Holder& holder,
                  std::uint32_t index);
  void replace_holder(ElementStore& store, const Element& element, const Holder& holder,
                      bool removes, std::uint32_t index);
  /// The store has just changed what it has for the element.
  void note_change(ElementStore& store, const Element& element);
  void undo();

  // nftables_backend.cpp: carrying it out.
  std::uint32_t commit_some(std::span<const RuleChange> batch, std::uint32_t begin,
                            std::uint32_t end);
  Outcome send_planned(Instant now, std::vector<Part>* parts);
  /// Takes from errors_ which changes are at fault; false where that cannot be told.
  bool blame();
  void finish(std::span<const RuleChange> batch, std::uint32_t begin, std::uint32_t end);
  Outcome commit();

  // nftables_restore.cpp: the kernel and we stay of one mind.
  /// Puts our table, with all elements, in the place of what the kernel has. Throws where it must
  /// not.
  void install();
  /// One attempt: false where others came in between.
  bool install_once(bool whatever_there_is);
  /// Finds out what the kernel can do. Throws where we may do nothing.
  void try_kernel();
  using Trial = void (Ruleset::*)(MessageBuffer&) const;
  bool kernel_takes(Trial trial);
  void write_frame(const TableState& found, bool whatever_there_is);
  using Stores = std::map<Shape, std::unique_ptr<ElementStore>>;
  /// How far the elements of all stores have been written.
  struct ElementCursor {
    Stores::iterator store;
    std::size_t done = 0;  ///< of that store
  };
  /// Every element that lives, from `cursor` on, into the open batch until that is large enough.
  void write_elements(ElementCursor& cursor);
  void check_table(const TableState& found) const;
  /// Takes the table as it is now for what we made.
  void remember_frame();
  /// A set that has to be made first, and for whose rule.
  struct MissingSet {
    Shape shape;
    std::uint32_t owner;
  };
  bool make_store(const MissingSet& missing);
  void add_store(const MissingSet& missing);
  void remove_empty_stores(Instant empty_before);
  std::vector<Shape> shapes() const;
  // nftables_watch.cpp: what others do.
  void watch();
  void look_after_table();
  void on_foreign_commit();
  void inspect();
  void compare(const Shape& shape, const Inspection::Keys& keys);
  void clear();

  Options options_;
  Ruleset ruleset_;
  TableLock lock_;
  NetlinkSocket socket_;
  MessageBuffer batch_;
  ElementWriter writer_;
  Conntrack conntrack_;
  Inspection inspection_;
  boost::asio::steady_timer timer_;

  Stores stores_;
  ElementStore* recent_ = nullptr;  ///< found last
  std::map<ElementStore*, Instant> empty_since_;
  TableState frame_;  ///< as we left it
  /// Of the ruleset that we know. 0: not known, and commits build on any; always so where nobody
  /// else can change our part of it.
  std::uint32_t generation_ = 0;
  bool claimed_ = false;    ///< nobody else can change the table while we live
  bool begun_ = false;      ///< the table is in the kernel, or was
  bool restoring_ = false;  ///< rules that were granted before are planned
  bool lost_ = false;       ///< the table could not be restored: nothing can be enforced

  // Of the batch that is being carried out, by change
  std::vector<ChangeResult> results_;
  std::vector<std::optional<ChangeResult>> refused_;  ///< by the kernel
  std::vector<bool> doubtful_;                        ///< may have lost elements
  // Of the commit that is being made
  Instant planned_at_;
  std::vector<Operation> operations_;
  std::optional<MissingSet> missing_;
  std::vector<Element> elements_;
  std::vector<Made> made_;
  Placed placed_;
  std::vector<Part> parts_;
  std::vector<MessageError> errors_;

  // Of the inspection under way
  bool inspect_again_ = false;
  Instant inspection_began_;
  Instant inspect_not_before_;
  std::map<Shape, absl::flat_hash_set<Key>> touched_;  ///< changed meanwhile
};

}  // namespace simco::backend::nftables
