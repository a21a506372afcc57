# The manual pages and the completion for shells. generate/manual.py and generate/completion.py make
# them from what the built command says about itself. So they are left out if it cannot run here.
if(CMAKE_CROSSCOMPILING)
  return()
endif()

set(stamp "${CMAKE_BINARY_DIR}/manual-is-written")
file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/experiments/*.toml")
foreach(source commands.py manual.py completion.py settings.py)
  list(APPEND sources "${PROJECT_SOURCE_DIR}/generate/${source}")
endforeach()
foreach(source bench/options.py report/__main__.py tune/options.py)
  list(APPEND sources "${PROJECT_SOURCE_DIR}/python/dunnage/${source}")
endforeach()
add_custom_command(
  OUTPUT "${stamp}"
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/generate/manual.py" $<TARGET_FILE:dunnage_tool> "${CMAKE_BINARY_DIR}/share"
  COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/generate/completion.py" $<TARGET_FILE:dunnage_tool> "${CMAKE_BINARY_DIR}/share"
  COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
  DEPENDS dunnage_tool ${sources} "${PROJECT_SOURCE_DIR}/api/settings.toml"
  COMMENT "Writing the manual pages and the completion for shells")
add_custom_target(manual ALL DEPENDS "${stamp}")

foreach(folder man bash-completion zsh fish)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/share/${folder}" DESTINATION share)
endforeach()
