// Policy rule groups (8.2.2, 8.3.2): each rule is a member of a single group, and a group ends with
// its last member. A member whose addition or removal the backend has not confirmed is unsettled.
#pragma once

#include <cstdint>
#include <optional>

#include "middlebox/policy/id_map.hpp"
#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// The groups, by GID. Not thread-safe.
class GroupTable {
 public:
  std::size_t size() const { return groups_.size(); }

  /// Returns the owner of the group, or nullopt if the group does not exist.
  std::optional<AgentId> owner(GroupId group) const {
    const Group* found = groups_.find(group.value);
    if (found == nullptr) return std::nullopt;
    return found->owner;
  }
  /// True if the group exists and survives even if its unsettled members fail.
  bool will_stay(GroupId group) const {
    const Group* found = groups_.find(group.value);
    return found != nullptr && found->unsettled < found->members;
  }
  /// Creates a group with an unsettled member.
  GroupId create(AgentId owner) {
    const auto taken = ids_.take([this](std::uint32_t id) { return groups_.find(id) != nullptr; });
    groups_.insert(taken.id, Group{owner, 1, 1, static_cast<std::uint32_t>(taken.position >> 32)});
    return GroupId{taken.id};
  }
  /// Position of the GIDs, and continuing from there; see IdSequence.
  std::uint64_t id_position() const { return ids_.position(); }
  void resume(std::uint64_t next) { ids_.resume(next); }
  /// Creates a group that existed before a restart, with an unsettled member.
  void restore(GroupId group, AgentId owner) {
    const auto position = ids_.position_of(group.value);
    groups_.insert(group.value, Group{owner, 1, 1, static_cast<std::uint32_t>(position >> 32)});
  }
  /// Adds an unsettled member to an existing group.
  void join(GroupId group) {
    Group* found = groups_.find(group.value);
    ++found->members;
    ++found->unsettled;
  }
  /// An unsettled member has been confirmed.
  void settle(GroupId group) {
    Group* found = groups_.find(group.value);
    SIMCO_ASSERT(found != nullptr && found->unsettled > 0);
    --found->unsettled;
  }
  /// A member is about to be removed.
  void unsettle(GroupId group) { ++groups_.find(group.value)->unsettled; }
  /// Removes an unsettled member. The group ends with its last member, and its owner is returned.
  std::optional<AgentId> leave(GroupId group) {
    Group* found = groups_.find(group.value);
    SIMCO_ASSERT(found != nullptr && found->unsettled > 0);
    --found->unsettled;
    if (--found->members != 0) return std::nullopt;
    const AgentId owner = found->owner;
    ids_.give_back((std::uint64_t{found->epoch} << 32) | group.value);
    groups_.erase(group.value);
    return owner;
  }

 private:
  struct Group {
    AgentId owner;
    std::uint32_t members = 0;
    std::uint32_t unsettled = 0;  ///< of the members
    std::uint32_t epoch = 0;      ///< high half of the id's position in the sequence
  };
  IdMap<Group> groups_;
  IdSequence<> ids_;
};

}  // namespace simco::policy
