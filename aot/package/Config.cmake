# A model that Relay compiled, as the target @NAME@::@NAME@. The package may be moved as a whole.
if(NOT TARGET @NAME@::@NAME@)
  get_filename_component(@NAME@_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(@NAME@::@NAME@ SHARED IMPORTED)
  set_target_properties(@NAME@::@NAME@ PROPERTIES
    IMPORTED_LOCATION "${@NAME@_PREFIX}/lib/lib@NAME@.so"
    IMPORTED_SONAME "lib@NAME@.so"
    INTERFACE_INCLUDE_DIRECTORIES "${@NAME@_PREFIX}/include")
  unset(@NAME@_PREFIX)
endif()
