// Preloaded into a program of ours for one test: the secrets of its connections over TLS and QUIC
// go to the file that SSLKEYLOGFILE names, which the programs themselves do not allow.
#include <dlfcn.h>
#include <openssl/ssl.h>

#include <cstdlib>
#include <fstream>

#ifdef SIMCO_QUIC
#include <gnutls/gnutls.h>
#endif

namespace {

/// The function that we stand before.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" SSL_CTX* SSL_CTX_new(const SSL_METHOD* method) {
  auto* context = real<decltype(SSL_CTX_new)>("SSL_CTX_new")(method);
  SSL_CTX_set_keylog_callback(context, [](const SSL*, const char* line) {
    if (const char* path = std::getenv("SSLKEYLOGFILE")) {
      std::ofstream(path, std::ios::app) << line << '\n';
    }
  });
  return context;
}

#ifdef SIMCO_QUIC
extern "C" void gnutls_session_set_keylog_function(gnutls_session_t session,
                                                   gnutls_keylog_func function) {
  // The first function is the library's own, which writes that file.
  if (gnutls_session_get_keylog_function(session) != nullptr) return;
  real<decltype(gnutls_session_set_keylog_function)>("gnutls_session_set_keylog_function")(
      session, function);
}
#endif
