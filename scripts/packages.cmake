# Installed files, and the Debian packages: `cpack --config build/release/CPackConfig.cmake`.
# Packing does not build the tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

install(TARGETS simco-middlebox RUNTIME COMPONENT middlebox)
install(FILES middlebox/systemd/simco-middlebox.service DESTINATION lib/systemd/system COMPONENT middlebox)
install(FILES middlebox/systemd/simco.sysusers DESTINATION lib/sysusers.d RENAME simco.conf COMPONENT middlebox)
install(PROGRAMS scripts/ha/simco-takeover DESTINATION lib/simco COMPONENT middlebox)
install(FILES scripts/ha/keepalived.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/simco-middlebox/examples
  COMPONENT middlebox)
install(FILES scripts/packages/middlebox.toml DESTINATION /etc/simco COMPONENT middlebox
  PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
install(TARGETS simco-ng RUNTIME COMPONENT ng)
install(FILES agent/ng/systemd/simco-ng.service DESTINATION lib/systemd/system COMPONENT ng)
install(FILES scripts/packages/ng.toml DESTINATION /etc/simco-ng COMPONENT ng)
install(TARGETS simcoctl simco-loadgen simco-echo simco-sip RUNTIME COMPONENT tools)
install(FILES scripts/wireshark/simco.lua
  DESTINATION lib/${CMAKE_LIBRARY_ARCHITECTURE}/wireshark/plugins COMPONENT tools)
foreach(program simco-middlebox simcoctl simco-ng simco-loadgen simco-echo simco-sip)
  set(component tools)
  if(program MATCHES "^simco-(middlebox|ng)$")
    set(component ${CMAKE_MATCH_1})
  endif()
  install(FILES scripts/packages/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME ${program} COMPONENT ${component})
  install(FILES scripts/packages/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    RENAME _${program} COMPONENT ${component})
  install(FILES scripts/packages/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME ${program}.fish COMPONENT ${component})
endforeach()

# The documents, with the dashboard and the alerts for Prometheus; figures of results are in the repository.
install(DIRECTORY doc/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/simco-middlebox COMPONENT middlebox
  PATTERN man EXCLUDE PATTERN results EXCLUDE)
install(FILES README.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/simco-middlebox COMPONENT middlebox)

foreach(package simco-middlebox simco-ng simco-tools libsimco-agent0 libsimco-agent-dev)
  string(REGEX REPLACE "^(lib)?simco-|0$" "" component ${package})
  install(FILES debian/changelog DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME changelog.Debian
    COMPONENT ${component})
  install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME changelog COMPONENT ${component})
  install(FILES scripts/packages/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

# Manual pages: the programs' --help, and the texts of doc/man.
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "no help2man: packages will have no manual pages")
elseif(NOT SIMCO_SANITIZE)
  function(manual program section component name)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.${section})
    add_custom_command(OUTPUT ${page}
      COMMAND ${CMAKE_SOURCE_DIR}/scripts/packages/manual ${HELP2MAN} $<TARGET_FILE:${program}> ${section} ${name}
        ${CMAKE_SOURCE_DIR}/doc/man/${program}.h2m ${page}
      DEPENDS ${program} ${CMAKE_SOURCE_DIR}/doc/man/${program}.h2m ${CMAKE_SOURCE_DIR}/scripts/packages/manual VERBATIM)
    set_property(GLOBAL APPEND PROPERTY SIMCO_MANUAL ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
  endfunction()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
  manual(simco-middlebox 8 middlebox "SIMCO (RFC 4540) middlebox")
  manual(simcoctl 1 tools "SIMCO agent on the command line")
  manual(simco-ng 8 ng "SIMCO agent for SIP proxies that speak the ng protocol")
  manual(simco-loadgen 1 tools "offers SIMCO or SIP transactions and measures how long they take")
  manual(simco-echo 1 tools "the other end of simco-loadgen --workload echo")
  manual(simco-sip 1 tools "SIP server that answers INVITEs, for simco-loadgen --workload sip")
  install(FILES doc/man/simco-middlebox.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT middlebox)
  get_property(pages GLOBAL PROPERTY SIMCO_MANUAL)
  add_custom_target(manual ALL DEPENDS ${pages})
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME simco)
set(CPACK_PACKAGE_CONTACT "The SIMCO project")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL middlebox ng tools agent agent-dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_MIDDLEBOX_PACKAGE_NAME simco-middlebox)
set(CPACK_DEBIAN_MIDDLEBOX_DESCRIPTION
  "The middlebox: a trusted agent, such as a SIP proxy, asks it for pinholes and address bindings, which it makes in the kernel's nftables.")
set(CPACK_DEBIAN_MIDDLEBOX_PACKAGE_RECOMMENDS "simco-tools")
set(CPACK_DEBIAN_MIDDLEBOX_PACKAGE_CONTROL_EXTRA
  "${CMAKE_SOURCE_DIR}/scripts/packages/postinst;${CMAKE_SOURCE_DIR}/scripts/packages/prerm;${CMAKE_SOURCE_DIR}/scripts/packages/postrm;${CMAKE_SOURCE_DIR}/scripts/packages/conffiles")
set(CPACK_DEBIAN_NG_PACKAGE_NAME simco-ng)
set(CPACK_DEBIAN_NG_DESCRIPTION
  "Asks a SIMCO middlebox for the pinholes and bindings of each call of a SIP proxy, Kamailio or OpenSIPS, that has the module rtpengine.")
set(CPACK_DEBIAN_NG_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/scripts/packages/ng/conffiles")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME simco-tools)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
  "simcoctl asks a middlebox for pinholes and bindings; simco-loadgen measures how long that takes.")
set(CPACK_DEBIAN_AGENT_PACKAGE_NAME libsimco-agent0)
set(CPACK_DEBIAN_AGENT_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_AGENT_DESCRIPTION
  "The agent library in C, for SIP proxies and others that ask middleboxes for pinholes.")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/scripts/packages/triggers")
set(CPACK_DEBIAN_AGENT-DEV_PACKAGE_NAME libsimco-agent-dev)
set(CPACK_DEBIAN_AGENT-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_AGENT-DEV_DESCRIPTION
  "To build programs with the agent library: in C, and in C++23 with Boost.Asio.")
set(CPACK_DEBIAN_AGENT-DEV_PACKAGE_DEPENDS
  "libsimco-agent0 (= ${PROJECT_VERSION}), libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev, libssl-dev, libfmt-dev, libsctp-dev, libusrsctp-dev, libcap-dev, pkg-config")
if(quic_FOUND)
  string(APPEND CPACK_DEBIAN_AGENT-DEV_PACKAGE_DEPENDS ", libngtcp2-dev (>= 0.12), libngtcp2-dev (<< 1~), "
    "libngtcp2-crypto-gnutls-dev (>= 0.12), libngtcp2-crypto-gnutls-dev (<< 1~), libgnutls28-dev (>= 3.7.2)")
endif()
include(CPack)
