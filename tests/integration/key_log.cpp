// Preloaded into a program of ours for one test: GnuTLS writes the secrets of QUIC's connections to
// the file that SSLKEYLOGFILE names, which the programs themselves do not allow.
#include <dlfcn.h>
#include <gnutls/gnutls.h>

extern "C" void gnutls_session_set_keylog_function(gnutls_session_t session,
                                                   gnutls_keylog_func function) {
  static const auto real = reinterpret_cast<decltype(&gnutls_session_set_keylog_function)>(
      dlsym(RTLD_NEXT, "gnutls_session_set_keylog_function"));
  // The first function is the library's own, which writes that file.
  if (gnutls_session_get_keylog_function(session) == nullptr) real(session, function);
}
