#include "agent/simcoctl/child.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstring>

namespace simco::ctl {

std::expected<pid_t, std::string> start_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, arguments.front(), nullptr, nullptr, arguments.data(), environ);
  if (error != 0) return std::unexpected(words.front() + ": " + std::strerror(error));
  return child;
}

boost::asio::awaitable<int> exit_status(pid_t program) {
  boost::asio::signal_set ended(co_await boost::asio::this_coro::executor, SIGCHLD);
  for (;;) {
    int status = 0;
    if (::waitpid(program, &status, WNOHANG) == program)
      co_return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    co_await ended.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  }
}

}  // namespace simco::ctl
