"""Conan 2: `conan create packaging` in a checkout. The package has the CMake targets inductor::inductor and inductor::library."""

import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Inductor(ConanFile):
    name = "inductor"
    license = "MIT"
    description = "Compiles graphs of tensor ops to fused CUDA kernels"
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        text = (pathlib.Path(self.recipe_folder).parent / "inductor.h").read_text()
        number = int(re.search(r"#define IND_VERSION (\d+)", text)[1])
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def export_sources(self):
        for pattern in ("inductor*.h", "CMakeLists.txt", "LICENSE", "packaging/*"):
            copy(self, pattern, pathlib.Path(self.recipe_folder).parent, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeToolchain(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package brings its CMake files
        self.cpp_info.builddirs.append("lib/cmake/inductor")
        self.cpp_info.libs = ["inductor"]
        self.cpp_info.system_libs = ["m", "pthread", "dl"] if self.settings.os != "Windows" else []
