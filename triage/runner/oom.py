"""The kernel's own word on whether it killed for want of memory; without it, nobody may say `out of memory`."""

from __future__ import annotations

from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def oom_kills(own: Path = OWN_CGROUPS, root: Path = CGROUPS) -> int | None:
    """Return how many processes of our memory cgroup the kernel has killed for want of memory; None if it does not say.

    Read from `memory.events` (cgroup v2) or `memory.oom_control` (v1), see the kernel's admin guide on cgroups.
    """
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    for _number, controllers, path in (line.split(":", 2) for line in lines):
        if "memory" in controllers.split(","):
            base, name = root / "memory", "memory.oom_control"
        elif not controllers:
            base, name = root, "memory.events"
        else:
            continue
        # Inside a container the path may be the host's; its own cgroup is then the root of the mount.
        for folder in (base / path.lstrip("/"), base):
            count = read_counter(folder / name)
            if count is not None:
                return count
    return None


def read_counter(path: Path) -> int | None:
    """Return the `oom_kill` counter of a cgroup file, None if there is none."""
    try:
        pairs = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
        return next((int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] == "oom_kill"), None)
    except (OSError, ValueError):
        return None


def killed_since(before: int | None) -> bool | None:
    """Whether the kernel has killed since the counter read `before`; None if it does not tell."""
    after = oom_kills()
    return None if before is None or after is None else after > before
