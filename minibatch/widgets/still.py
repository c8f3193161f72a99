"""A widget that leaves a still of itself where no kernel can bring it to life."""

import ipywidgets

from .widget_templates import PAGES


class WithStill(ipywidgets.VBox):
    """Controls above, a line that is read out as it changes, one HTML `view` below; the line and
    the view are also what a saved notebook shows."""

    def __init__(self, controls: list[ipywidgets.Widget]) -> None:
        self.line, self.view = ipywidgets.HTML(), ipywidgets.HTML()
        self.line.add_class("minibatch-live")
        row = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([ipywidgets.Box(controls, layout=row), accessible(), self.line, self.view])

    @property
    def still(self) -> str:
        """What it shows now, as HTML."""
        return self.line.value + self.view.value

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self.still} if bundle else {}


def accessible() -> ipywidgets.HTML:
    """Shows nothing: it gives the controls beside it what a keyboard and a screen reader need."""
    return ipywidgets.HTML(
        PAGES.get_template("accessible.html").render(), layout=ipywidgets.Layout(display="none")
    )
