"""What llmmem.jax raises."""


class UnsupportedLossError(TypeError):
    """The function has something that cannot be planned; the message names it and says what to do."""
