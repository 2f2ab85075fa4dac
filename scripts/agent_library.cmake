# The installed files of the agent library, for programs in C++ and C.
include(GNUInstallDirs)

# The agent library in C++, with everything it is made of. `#include "agent/agent.hpp"` is below simco/, and so are the
# headers of values that it shows; those of channels and sockets are not installed.
set(agent_libraries simco_asio simco_wire simco_session simco_net simco_binding simco_agent)
set(agent_headers ${CMAKE_INSTALL_INCLUDEDIR}/simco)
foreach(library simco_wire simco_session simco_net simco_binding simco_agent)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${agent_headers}>)
  target_compile_features(${library} INTERFACE cxx_std_23)
endforeach()
install(TARGETS ${agent_libraries} EXPORT simco-agent ARCHIVE)
install(EXPORT simco-agent NAMESPACE simco:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/simco-agent
  FILE simco-agent-targets.cmake)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/simco-agent-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(scripts/packages/simco-agent-config.cmake ${CMAKE_BINARY_DIR}/simco-agent-config.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/simco-agent-config.cmake ${CMAKE_BINARY_DIR}/simco-agent-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/simco-agent)
install(DIRECTORY simco/wire simco/session DESTINATION ${agent_headers}/simco
  FILES_MATCHING PATTERN "*.hpp" PATTERN attribute_codec.hpp EXCLUDE PATTERN backoff.hpp EXCLUDE
  PATTERN middlebox_session.hpp EXCLUDE PATTERN number.hpp EXCLUDE PATTERN packet_count.hpp EXCLUDE
  PATTERN table.hpp EXCLUDE)
install(FILES simco/binding/framer.hpp DESTINATION ${agent_headers}/simco/binding)
install(FILES simco/net/endpoint.hpp simco/net/frame_splitter.hpp simco/net/framer.hpp simco/net/tls.hpp simco/net/transport.hpp
  DESTINATION ${agent_headers}/simco/net)
install(FILES simco/net/sctp/options.hpp DESTINATION ${agent_headers}/simco/net/sctp)
install(FILES simco/net/quic/options.hpp DESTINATION ${agent_headers}/simco/net/quic)
install(FILES agent/agent.hpp agent/credentials.hpp agent/error.hpp agent/options.hpp agent/outcome.hpp
  agent/pinhole.hpp agent/stream_agent.hpp DESTINATION ${agent_headers}/agent)

# The agent library in C.
install(TARGETS simco_agent_c LIBRARY)
install(FILES agent/c/simco/agent.h DESTINATION ${agent_headers})
# Wherever it is unpacked: the prefix goes by the file's own place.
set(simco_quic_modules "")
if(quic_FOUND)
  list(JOIN quic_modules " " simco_quic_modules)
  string(REGEX REPLACE "(<|>=)" " \\1 " simco_quic_modules " ${simco_quic_modules}")
endif()
file(RELATIVE_PATH simco_prefix /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig /usr)
configure_file(agent/c/simco-agent.pc.in ${CMAKE_BINARY_DIR}/simco-agent.pc @ONLY)
configure_file(agent/simco-agent-cpp.pc.in ${CMAKE_BINARY_DIR}/simco-agent-cpp.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/simco-agent.pc ${CMAKE_BINARY_DIR}/simco-agent-cpp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES doc/man/simco-agent.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
