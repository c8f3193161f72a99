"""The model card."""


def model_card() -> str:
    return "# Wayfarer\n"
