"""What was predicted of training steps, for people and for programs."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence


@dataclass(frozen=True)
class Peak:
    """The most bytes that are held at once in a phase. allocated: of tensors and of what ops take while they run. reserved: of the device by
    its caching allocator, None where there is none. by_kind: what `allocated` is made of."""

    allocated: int
    reserved: Optional[int]
    by_kind: Dict[str, int]


@dataclass(frozen=True)
class Strategy:
    """One way to run the step. steps: the first and a later one, each the Peak of every phase by its name. unknown: the ops of which it is
    not known, and not counted, what they take in addition to their results while they run."""

    steps: List[Dict[str, Peak]]
    unknown: Sequence[str]

    @property
    def unmeasured(self) -> int:
        """Returns of how many ops it is not known what they take while they run."""
        return len(self.unknown)

    @property
    def peak(self) -> int:
        """Returns the most bytes that any phase of any step holds."""
        return max(peak.allocated for step in self.steps for peak in step.values())

    @property
    def reserved(self) -> Optional[int]:
        return max((peak.reserved for step in self.steps for peak in step.values() if peak.reserved is not None), default=None)


@dataclass(frozen=True)
class Prediction:
    """The result of `predict`: strategies by their names."""

    device: str
    has_optimizer: bool
    strategies: Dict[str, Strategy]

    def to_json(self) -> str:
        """Returns everything as JSON; all bytes are integers."""
        content: Dict[str, Any] = {"format": "llmmem-torch-prediction", "version": 1, "device": self.device, "strategies": {}}
        for name, strategy in self.strategies.items():
            steps = {step: {phase: asdict(peak) for phase, peak in peaks.items()}
                     for step, peaks in zip(("first", "later"), strategy.steps)}
            content["strategies"][name] = {"allocated": strategy.peak, "reserved": strategy.reserved, "unmeasured": strategy.unmeasured,
                                           "unknown": list(strategy.unknown), "steps": steps}
        return json.dumps(content, indent=1)

    def __str__(self) -> str:
        lines = []
        for name, strategy in self.strategies.items():
            reserved = "" if strategy.reserved is None else f", reserved {strategy.reserved:,}"
            lines.append(f"llmmem: {name} on {self.device}: allocated {strategy.peak:,} bytes{reserved}")
            for step, peaks in zip(("first step", "later steps"), strategy.steps):
                for phase, peak in peaks.items():
                    kinds = ", ".join(f"{kind} {size:,}" for kind, size in peak.by_kind.items() if size)
                    lines.append(f"llmmem:   {step}, {phase}: {peak.allocated:,}: {kinds}")
            if strategy.unmeasured:
                lines.append("llmmem:   bytes are of the model: what these ops take while they run is not known: "
                             + ", ".join(strategy.unknown))
        return "\n".join(lines)
