#!/usr/bin/python3
"""Writes a folder with the C++ API: cpp_package.py FOLDER LIBRARY VERSION.H FILE=PLACE...

FOLDER/include/relay/PLACE is the header FILE, FOLDER/lib the library, FOLDER/lib/cmake/relay what find_package reads.
"""

import pathlib
import re
import shutil
import sys

CONFIG = """# The target relay::relay: the C++ API of Relay. Its headers include nlohmann/json_fwd.hpp.
get_filename_component(_relay_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET relay::relay)
  add_library(relay::relay SHARED IMPORTED)
  set_target_properties(relay::relay PROPERTIES
    IMPORTED_LOCATION "${_relay_root}/lib/@LIBRARY@"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_INCLUDE_DIRECTORIES "${_relay_root}/include/relay")
endif()
"""
VERSION = """set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
"""


def main():
    folder, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version = re.search(r'kVersion = "([^"]+)"', pathlib.Path(sys.argv[3]).read_text(encoding="utf-8"))[1]
    for pair in sys.argv[4:]:
        file, _, place = pair.partition("=")
        to = folder / "include/relay" / place
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
    cmake = folder / "lib/cmake/relay"
    cmake.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(library, folder / "lib" / library.name)
    (cmake / "relayConfig.cmake").write_text(CONFIG.replace("@LIBRARY@", library.name), encoding="utf-8")
    (cmake / "relayConfigVersion.cmake").write_text(VERSION.replace("@VERSION@", version), encoding="utf-8")


if __name__ == "__main__":
    main()
