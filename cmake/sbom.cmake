# The target fiber_sbom writes fiber.cdx.json into the build folder: the Debian packages that this build is made of,
# as the compiler and the linker have seen them. Build it alone: it reads what Ninja has noted of the build before.
# Needs Ninja, Python, dpkg and FIBER_CLI, whose program is the one that is linked.
add_custom_target(fiber_sbom
  COMMAND python3 "${PROJECT_SOURCE_DIR}/deploy/sbom.py" --build "${PROJECT_BINARY_DIR}"
    --program "$<TARGET_FILE:fiber_command>" --version "${PROJECT_VERSION}" "${PROJECT_BINARY_DIR}/fiber.cdx.json"
  BYPRODUCTS "${PROJECT_BINARY_DIR}/fiber.cdx.json"
  COMMENT "Listing what this build is made of in fiber.cdx.json" VERBATIM)
add_dependencies(fiber_sbom fiber fiber_command)
