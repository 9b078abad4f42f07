# Tried, on Debian 12: Spack 1.1.0 with spack-packages of July 2026 installs it, with random123 and Eigen 5.0.1 as Spack
# builds them and Debian's Boost, and with +simulate and Debian's packages. A project finds it. spack audit and
# the style check of spack-packages pass. Not tried: Boost, Thrust and TBB as Spack builds them, macOS.
# Its place is repos/spack_repo/builtin/packages/incontext/package.py; Spack's license lines replace these.

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Incontext(CMakePackage):
    """Header-only C++20 library of the closed-form theory of in-context learning by attention,
    with Monte Carlo simulators that put it on trial."""

    homepage = "https://incontext.invalid/"
    url = "https://incontext.invalid/incontext-0.1.0-source.tar.gz"

    license("BSL-1.0")

    version("0.1.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")

    depends_on("eigen@3.4:")
    depends_on("boost@1.74:")
    depends_on("random123@1.14:")

    variant("simulate", default=False, description="Bring what the simulators include")
    depends_on("thrust@1.17:", when="+simulate")
    depends_on("tbb", when="+simulate")

    def cmake_args(self):
        return [
            self.define("INCONTEXT_BUILD_PROGRAMS", False),
            self.define("INCONTEXT_BUILD_TESTS", False),
            self.define("INCONTEXT_BUILD_BENCHMARKS", False),
            self.define("INCONTEXT_CUDA", False),
            self.define("INCONTEXT_MPI", False),
        ]
