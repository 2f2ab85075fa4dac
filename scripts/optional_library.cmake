# Libraries that our programs load when they are asked for what takes them (simco/library). Where stubs.cpp knows the
# processor; elsewhere, and for all who link our own libraries, they are linked as usual.

# `target` calls functions of `name`, a prefix of pkg_check_modules(). Its first library is loaded, and brings the others.
function(simco_optional_library target name)
  target_link_libraries(${target} PRIVATE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SIMCO_LOADS_LIBRARIES>>>:PkgConfig::${name}>)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    return()
  endif()
  list(GET ${name}_LINK_LIBRARIES 0 library)
  file(REAL_PATH ${library} library)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "SONAME +([^\n]+)" headers "${headers}")
  if(NOT CMAKE_MATCH_1)
    return() # a static one
  endif()
  set(file ${CMAKE_MATCH_1})
  # On Debian, messages and packages name the package.
  execute_process(COMMAND dpkg-query --search ${library} OUTPUT_VARIABLE package RESULT_VARIABLE unknown ERROR_QUIET)
  string(REGEX REPLACE ":.*" "" package "${package}")
  set(SIMCO_LOADED_${name} "${file}" CACHE INTERNAL "Loaded when asked for")
  set(SIMCO_PACKAGE_${name} "${package}" CACHE INTERNAL "Package of ${file}")
  set(functions ${CMAKE_BINARY_DIR}/functions-of-${name}.inc)
  add_custom_command(OUTPUT ${functions}
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/functions_of ${CMAKE_NM} $<TARGET_FILE:${target}> ${${name}_LINK_LIBRARIES} > ${functions}
    DEPENDS ${target} ${CMAKE_SOURCE_DIR}/scripts/functions_of VERBATIM)
  add_library(simco_${name}_stubs OBJECT EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/simco/library/stubs.cpp ${functions})
  target_compile_definitions(simco_${name}_stubs PRIVATE SIMCO_LOAD=simco_load_${name} SIMCO_FUNCTIONS="${functions}"
    SIMCO_LIBRARY="${file}" SIMCO_PACKAGE="${package}")
  target_compile_options(simco_${name}_stubs PRIVATE -fno-lto) # which does not see the functions in assembler
endfunction()

# `program` loads the libraries `names`; it has to name all that it calls.
function(simco_loads program)
  foreach(name IN LISTS ARGN)
    if(TARGET simco_${name}_stubs)
      set_target_properties(${program} PROPERTIES SIMCO_LOADS_LIBRARIES ON)
      target_link_libraries(${program} PRIVATE simco_${name}_stubs ${CMAKE_DL_LIBS})
    endif()
  endforeach()
endfunction()
