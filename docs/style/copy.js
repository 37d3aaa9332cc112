// A button on each block of code copies it; of a console, only the commands, without prompts.
document.addEventListener("DOMContentLoaded", () => {
  if (!navigator.clipboard) return; // pages that are opened as files in some browsers
  for (const pre of document.querySelectorAll(".highlight pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const code = pre.cloneNode(true);
      for (const part of code.querySelectorAll(".gp, .go, .linenos")) part.remove();
      await navigator.clipboard.writeText(code.textContent.trim() + "\n");
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    pre.parentElement.append(button);
  }
});
