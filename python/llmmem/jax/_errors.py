"""What llmmem.jax raises."""


class UnsupportedLossError(TypeError):
    """Raised where the function has something that cannot be planned. The message names it and says what to do."""
