#include "agent/simcoctl/http_get.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <stdexcept>
#include <string_view>

#include "agent/simcoctl/limits.hpp"

namespace simco::ctl {
namespace {

std::string read_to_the_end(boost::asio::ip::tcp::iostream& stream) {
  std::string answer;
  std::array<char, 16'384> part;
  while (answer.size() <= kHttpAnswerMax) {
    stream.read(part.data(), part.size());
    answer.append(part.data(), static_cast<std::size_t>(stream.gcount()));
    if (!stream) break;
  }
  if (answer.size() > kHttpAnswerMax) throw std::runtime_error("the response is too long");
  const auto& error = stream.error();
  if (error && error != boost::asio::error::eof) throw boost::system::system_error(error);
  return answer;
}

/// What follows the header `name`, which begins with a line end and is in lower case; empty: it is
/// not there.
std::string_view header(std::string_view head, std::string_view name) {
  const auto same = [](char in, char wanted) {
    return (in >= 'A' && in <= 'Z' ? static_cast<char>(in - 'A' + 'a') : in) == wanted;
  };
  for (std::size_t at = 0; at + name.size() <= head.size(); ++at) {
    if (std::ranges::equal(head.substr(at, name.size()), name, same)) {
      auto value = head.substr(at + name.size());
      value = value.substr(0, value.find('\r'));
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
  }
  return {};
}

template <class Number>
Number number(std::string_view text, Number otherwise) {
  Number value = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::string http_get(const net::HostPort& from, const std::string& path) {
  boost::asio::ip::tcp::iostream stream;
  stream.expires_after(kHttpPatience);
  stream.connect(from.host, std::to_string(from.port));
  if (!stream) throw boost::system::system_error(stream.error());
  stream << "GET " << path << " HTTP/1.0\r\nHost: " << from.host << "\r\n\r\n" << std::flush;
  const auto answer = read_to_the_end(stream);
  const auto end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || end == answer.npos) {
    throw std::runtime_error("the response is not HTTP");
  }
  const auto head = std::string_view(answer).substr(0, end);
  const int status = number(head.substr(std::min(head.find(' ') + 1, head.size())), 0);
  if (status != 200) throw std::runtime_error(fmt::format("HTTP status {}", status));
  const auto size = answer.size() - end - 4;
  if (size != number(header(head, "\r\ncontent-length:"), size)) {
    throw std::runtime_error("the response is incomplete");
  }
  return answer.substr(end + 4);
}

}  // namespace simco::ctl
