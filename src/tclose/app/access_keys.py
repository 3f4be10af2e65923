"""What opens the app: a link that works once, the cookie it is exchanged for, and the token of every form."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from threading import Lock


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(eq=False)
class AccessKeys:
    """The secrets of one run of the app; none is written anywhere.

    Attributes
    ----------
    cookie_name
        Random, so that two apps on one machine do not overwrite each other's cookie: cookies know no ports.

    Examples
    --------
    >>> keys = AccessKeys()
    >>> link = keys.link_token
    >>> keys.exchange("wrong"), keys.exchange(link), keys.exchange(link)
    (None, True, None)
    """

    cookie_name: str = field(default_factory=lambda: f"tclose-{secrets.token_hex(8)}")
    link_token: str | None = field(default_factory=_secret, repr=False)
    _cookie: str = field(default_factory=_secret, repr=False)
    _form_token: str = field(default_factory=_secret, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def exchange(self, given: str) -> bool | None:
        """Use the link up: True the first time that it is the right one, else None."""
        with self._lock:
            if self.link_token is None or not same(given, self.link_token):
                return None
            self.link_token = None
            return True

    @property
    def form_token(self) -> str:
        """What every form sends along, which no other site can read."""
        return self._form_token

    def is_cookie(self, header: str) -> bool:
        """Whether a `Cookie` header has our cookie, once."""
        pairs = [part.strip().partition("=") for part in header.split(";")]
        given = [value for name, _, value in pairs if name == self.cookie_name]
        return len(given) == 1 and same(given[0], self._cookie)

    def is_form_token(self, given: str) -> bool:
        """Whether a form is one of ours."""
        return same(given, self._form_token)

    def set_cookie(self, secure: bool) -> str:
        """The header that hands the cookie out."""
        rest = "; Secure" if secure else ""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict{rest}"


def same(one: str, other: str) -> bool:
    """Whether two texts are the same, in a time that tells nothing."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))
