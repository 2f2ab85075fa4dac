# Installed files of the programs. Units, configuration and documents are placed by debian/.
install(TARGETS simco-middlebox simco-ng simcoctl simco-loadgen simco-echo simco-sip RUNTIME)
foreach(program simco-middlebox simco-ng simcoctl simco-loadgen simco-echo simco-sip)
  install(FILES scripts/packages/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME ${program})
  install(FILES scripts/packages/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    RENAME _${program})
  install(FILES scripts/packages/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME ${program}.fish)
endforeach()

# Manual pages: the programs' --help, and the texts of doc/man.
find_program(HELP2MAN help2man)
if(NOT HELP2MAN)
  message(STATUS "no help2man: there will be no manual pages of programs")
elseif(NOT SIMCO_SANITIZE)
  function(manual program section name)
    set(page ${CMAKE_BINARY_DIR}/man/${program}.${section})
    add_custom_command(OUTPUT ${page}
      COMMAND ${CMAKE_SOURCE_DIR}/scripts/packages/manual ${HELP2MAN} $<TARGET_FILE:${program}> ${section} ${name}
        ${CMAKE_SOURCE_DIR}/doc/man/${program}.h2m ${page}
      DEPENDS ${program} ${CMAKE_SOURCE_DIR}/doc/man/${program}.h2m ${CMAKE_SOURCE_DIR}/scripts/packages/manual VERBATIM)
    set_property(GLOBAL APPEND PROPERTY SIMCO_MANUAL ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endfunction()
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/man)
  manual(simco-middlebox 8 "SIMCO (RFC 4540) middlebox")
  manual(simcoctl 1 "SIMCO agent on the command line")
  manual(simco-ng 8 "SIMCO agent for SIP proxies that speak the ng protocol")
  manual(simco-loadgen 1 "offers SIMCO or SIP transactions and measures how long they take")
  manual(simco-echo 1 "the other end of simco-loadgen --workload echo")
  manual(simco-sip 1 "SIP server that answers INVITEs, for simco-loadgen --workload sip")
  install(FILES doc/man/simco-middlebox.toml.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  get_property(pages GLOBAL PROPERTY SIMCO_MANUAL)
  add_custom_target(manual ALL DEPENDS ${pages})
endif()

# The conformance program, with the vectors that it plays.
set(conformance ${CMAKE_INSTALL_DATADIR}/simco/conformance)
install(PROGRAMS conformance/simco-conformance TYPE BIN)
install(DIRECTORY conformance/simco_conformance DESTINATION ${conformance} FILES_MATCHING PATTERN "*.py")
install(DIRECTORY tests/vectors/transcripts DESTINATION ${conformance} FILES_MATCHING PATTERN "*.json")
install(FILES tests/vectors/simco_codec.py tests/vectors/vectors.py tests/vectors/malformed.json tests/vectors/messages.json
  DESTINATION ${conformance})
install(FILES doc/man/simco-conformance.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
