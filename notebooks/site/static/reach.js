// What scrolls sideways can be reached, and scrolled, by the keyboard.
function reach() {
  for (const part of document.querySelectorAll("pre, .table-wrapper, .cell_output")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
addEventListener("load", reach);
addEventListener("resize", reach);
