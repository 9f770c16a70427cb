// SPDX-License-Identifier: Apache-2.0
// Debian's Furo follows the system's choice of light or dark only in its code blocks. This does it for the whole page.
{
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    if ((localStorage.getItem("theme") || "auto") === "auto")
      document.body.dataset.theme = dark.matches ? "dark" : "light";
  };
  follow();
  dark.addEventListener("change", follow);
}
