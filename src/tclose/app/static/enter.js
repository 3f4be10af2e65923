// Hands in the token that stands behind # in the link, and takes it out of the address.
const token = location.hash.slice(1);
const form = document.getElementById("enter");
if (token && form && !form.hasAttribute("data-used")) {
  history.replaceState(null, "", "/enter");
  form.elements.token.value = token;
  form.submit();
}
