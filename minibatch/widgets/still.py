"""A widget that leaves a picture of itself in a saved notebook, where no kernel runs."""

import ipywidgets

from .widget_templates import PAGES


class WithStill(ipywidgets.VBox):
    """Controls on top, then a line that a screen reader reads when it changes, then one HTML
    `view`. A saved notebook shows the line and the view."""

    def __init__(self, controls: list[ipywidgets.Widget]) -> None:
        self.line, self.view = ipywidgets.HTML(), ipywidgets.HTML()
        self.line.add_class("minibatch-live")
        row = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([ipywidgets.Box(controls, layout=row), accessible(), self.line, self.view])

    @property
    def still(self) -> str:
        """The present line and view, as HTML."""
        return self.line.value + self.view.value

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {**bundle, "text/html": self.still} if bundle else {}


def accessible() -> ipywidgets.HTML:
    """An invisible element: it makes the controls usable with a keyboard and a screen reader."""
    return ipywidgets.HTML(
        PAGES.get_template("accessible.html").render(), layout=ipywidgets.Layout(display="none")
    )
