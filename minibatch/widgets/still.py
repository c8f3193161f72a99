"""A widget that leaves a still of itself where no kernel can bring it to life."""

import ipywidgets


class WithStill(ipywidgets.VBox):
    """Controls above, one HTML `view` below; the view is also what a saved notebook shows."""

    def __init__(self, controls: list[ipywidgets.Widget]) -> None:
        self.view = ipywidgets.HTML()
        row = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([ipywidgets.Box(controls, layout=row), self.view])

    @property
    def still(self) -> str:
        """What a saved notebook shows, as HTML."""
        return self.view.value

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self.still} if bundle else {}
