// Entries of a tree are dragged onto a group; the same is done by ticking them and choosing the group.
export function dragTree() {
  const tree = document.querySelector("[data-tree]");
  if (!tree) return;
  let dragged = null;
  tree.addEventListener("dragstart", (event) => {
    dragged = event.target.closest("[data-node]");
    event.dataTransfer.effectAllowed = "move";
  });
  tree.addEventListener("dragover", (event) => {
    const group = event.target.closest("li.group");
    for (const each of tree.querySelectorAll(".is-over")) each.classList.remove("is-over");
    if (!dragged || !group || group === dragged) return;
    event.preventDefault();
    group.classList.add("is-over");
  });
  tree.addEventListener("drop", (event) => {
    const group = event.target.closest("li.group");
    if (!dragged || !group) return;
    event.preventDefault();
    const own = dragged.querySelector("input");
    own.checked = true;
    document.getElementById("parent").value = group.dataset.node;
    document.getElementById("move").click();
  });
}
