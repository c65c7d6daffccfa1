"""What llmmem.torch raises. All of them reach the caller of a compiled model inside torch.compile's own error, whose text
has theirs."""


class UnsupportedGraphError(RuntimeError):
    """Raised where the graph has something that cannot be planned. The message names the node and says what to do."""
