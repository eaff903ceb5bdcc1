"""The build files of the project, each used by a project in a new folder: by CMake as an installed package and as a folder of the tree, by
Meson, by pkg-config and by Conan. vcpkg's port is not run."""

import os
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, ROOT, one_at_a_time

HERE = ROOT / "tests" / "consume"
ENGINE = """
add_executable(engine engine.cc)
set_target_properties(engine PROPERTIES CXX_STANDARD 11)
target_link_libraries(engine inductor::library)
"""
ONE_FILE = """
add_executable(one one_file.c)
set_target_properties(one PROPERTIES C_STANDARD 11)
target_link_libraries(one inductor::inductor)
"""


@pytest.fixture(scope="module")
def environment(device):
    """With the tools of requirements.txt on the path."""
    if device != "host":
        pytest.skip("does not depend on the device")
    python = BUILD / "build_tools_python"
    with one_at_a_time():
        done = subprocess.run(["sh", "tests/get_python.sh", python, HERE / "requirements.txt"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the tools cannot be installed: {done.stderr.splitlines()[-1]}")
    scripts = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('scripts'))"], check=True, capture_output=True, text=True).stdout.strip()
    return {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "CMAKE_GENERATOR": "Ninja", "CFLAGS": "-O0"}


@pytest.fixture
def run(environment, tmp_path):
    """A new folder with the sources of a project, and what runs a command in it."""
    for name in ("one_file.c", "engine.cc"):
        shutil.copy(HERE / name, tmp_path)

    def command(*words, **variables):
        done = subprocess.run(list(map(str, words)), cwd=tmp_path, env={**environment, **variables}, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    command.folder = tmp_path
    return command


def build_with_cmake(run, how, *options):
    (run.folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.16)\nproject(engine C CXX)\n{how}\n{ENGINE}")
    run("cmake", "-S", ".", "-B", "b", *options)
    run("cmake", "--build", "b")
    run("b/engine")


def version():
    number = int(re.search(r"#define IND_VERSION (\d+)", (ROOT / "inductor.h").read_text())[1])
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def test_cmake_package(run):
    """Installed, found by find_package in the right versions and by pkg-config."""
    prefix = run.folder / "prefix"
    run("cmake", "-S", ROOT, "-B", "library", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib")
    run("cmake", "--build", "library")
    run("cmake", "--install", "library")
    build_with_cmake(run, f"find_package(inductor {version()} REQUIRED)\n{ONE_FILE}", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("b/one")
    (run.folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.16)\nproject(e C)\nfind_package(inductor 1.0 QUIET)\n"
                                               "if(inductor_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n")  # fmt: skip
    run("cmake", "-S", ".", "-B", "d", f"-DCMAKE_PREFIX_PATH={prefix}")
    packages = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    assert run("pkg-config", "--modversion", "inductor", **packages).strip() == version()
    flags = run("pkg-config", "--cflags", "--libs", "inductor", **packages).split()
    run("c++", "-std=c++11", "engine.cc", *flags, "-o", "by_pkg_config")
    run("./by_pkg_config")


def test_cmake_folder(run):
    build_with_cmake(run, f"add_subdirectory({ROOT} inductor)")


def test_meson(run):
    """As a subproject."""
    (run.folder / "subprojects").mkdir()
    (run.folder / "subprojects" / "inductor").symlink_to(ROOT)
    (run.folder / "meson.build").write_text("""project('engine', 'c', 'cpp', default_options: ['c_std=c11', 'cpp_std=c++11'])
inductor = subproject('inductor')
executable('engine', 'engine.cc', dependencies: [inductor.get_variable('inductor_dep'), inductor.get_variable('inductor_library_dep')])
""")
    run("meson", "setup", "b")
    run("meson", "compile", "-C", "b")
    run("b/engine")
    assert f"version: '{version()}'" in (ROOT / "meson.build").read_text()
    assert f'"version": "{version()}"' in (ROOT / "packaging/vcpkg/vcpkg.json").read_text()


def test_conan(run):
    """The package is made, and a project uses it."""
    home = {"CONAN_HOME": str(run.folder / "conan")}
    run("conan", "profile", "detect", **home)
    run("conan", "create", ROOT / "packaging", "-s", "build_type=Debug", **home)
    (run.folder / "conanfile.txt").write_text(f"[requires]\ninductor/{version()}\n[generators]\nCMakeDeps\nCMakeToolchain\n[layout]\n")
    run("conan", "install", ".", "-s", "build_type=Debug", "-of", "generated", **home)
    build_with_cmake(run, "find_package(inductor REQUIRED)", "-DCMAKE_TOOLCHAIN_FILE=generated/conan_toolchain.cmake", "-DCMAKE_BUILD_TYPE=Debug")
