#include "tests/support/log.hpp"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace simco::test {

struct Log::Impl {
  std::ostringstream text;
  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
};

Log::Log() : impl_(std::make_unique<Impl>()) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_st>(impl_->text)));
}

Log::~Log() { spdlog::set_default_logger(impl_->before); }

bool Log::says(std::string_view words) const {
  return impl_->text.view().find(words) != std::string_view::npos;
}

}  // namespace simco::test
