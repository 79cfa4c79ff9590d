// The menu of the bar on a narrow screen. On a wide one its links are in the bar itself.

const button = document.getElementById("menu");
const links = document.getElementById("links");

function open(yes) {
  button.setAttribute("aria-expanded", yes);
}

// setUpMenu opens and closes the menu.
export function setUpMenu() {
  button.addEventListener("click", () => open(button.getAttribute("aria-expanded") !== "true"));
  addEventListener("click", (event) => { if (!button.contains(event.target)) open(false); });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    open(false);
    button.focus();
  });
  links.addEventListener("focusout", (event) => { if (event.relatedTarget && event.relatedTarget !== button && !links.contains(event.relatedTarget)) open(false); });
}
