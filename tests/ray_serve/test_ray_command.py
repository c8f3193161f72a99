"""The flags of `serve --replicas`, the arguments of `serve.yaml`, and what stops both early."""

import argparse
import sys
from pathlib import Path

import pytest

from minibatch.ray_serve import command
from minibatch.ray_serve.settings import EngineSettings

YAML = Path(command.__file__).with_name("serve.yaml")


def test_without_ray_it_says_how_to_get_it(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "minibatch.ray_serve.cluster", raising=False)
    assert command.main(["--replicas", "2"]) == 2
    assert "python -m minibatch setup --ray" in capsys.readouterr().err


def test_without_replicas_it_is_the_server_of_one_engine(monkeypatch):
    seen = []
    monkeypatch.setattr(command.command, "main", lambda *given: seen.append(given) or 0)
    assert command.main(["--port", "0"]) == 0
    ((arguments, parser),) = seen
    assert arguments == ["--port", "0"]
    assert isinstance(parser, argparse.ArgumentParser)


def test_settings_are_the_flags_of_one_engine():
    options = command.make_parser().parse_args(["--num-blocks", "9", "--prefix-caching"])
    settings = EngineSettings.of(options)
    assert settings == EngineSettings(num_blocks=9, prefix_caching=True)
    assert settings.name == "wayfarer"


@pytest.mark.ray
def test_flags_make_a_deployment():
    pytest.importorskip("ray")
    flags = ["--replicas", "3", "--router", "PrefixAffinity", "--most-replicas", "5"]
    made = command.deployment(command.make_parser().parse_args(flags))
    assert (made.replicas, made.most_replicas, made.router) == (3, 5, "PrefixAffinity")


def engines_of(application):
    """What Ray is told of the replicas behind the ingress."""
    return application._bound_deployment.init_args[0]._bound_deployment


@pytest.mark.ray
def test_ray_gets_the_limits_of_its_autoscaler():
    pytest.importorskip("ray")
    flags = [
        "--replicas",
        "2",
        "--most-replicas",
        "5",
    ]
    made = command.deployment(command.make_parser().parse_args(flags))
    limits = engines_of(made.application())._deployment_config.autoscaling_config
    assert (limits.min_replicas, limits.max_replicas, limits.target_ongoing_requests) == (2, 5, 8)


@pytest.mark.ray
@pytest.mark.parametrize(("num_gpus", "share"), [(0, 0), (1, 0.5), (4, 1)])
def test_a_replica_gets_its_share_of_the_gpus(num_gpus, share, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setattr("torch.cuda.device_count", lambda: num_gpus)
    made = command.deployment(command.make_parser().parse_args(["--replicas", "2"]))
    assert engines_of(made.application()).ray_actor_options["num_gpus"] == share


@pytest.mark.ray
@pytest.mark.parametrize("flags", [["--router", "Nobody"], ["--host", "0.0.0.0"]])
def test_a_wrong_flag_ends_it_before_ray_is_started(flags, monkeypatch, capsys):
    pytest.importorskip("ray")
    monkeypatch.setattr("minibatch.ray_serve.ray_server.cluster", None)
    assert command.main(["--replicas", "2", *flags]) == 2
    assert flags[1] in capsys.readouterr().err


@pytest.mark.ray
def test_the_file_for_a_cluster_starts_only_with_a_key():
    pytest.importorskip("ray")
    import yaml
    from ray.serve.schema import ServeDeploySchema

    from minibatch.ray_serve import deploy

    content = yaml.safe_load(YAML.read_text(encoding="utf-8"))
    (application,) = ServeDeploySchema.model_validate(content).applications
    assert application.import_path == f"{deploy.__name__}:{deploy.build.__name__}"
    with pytest.raises(ValueError, match="api_key"):
        deploy.build(application.args)
    deploy.build(application.args | {"api_key": "secret"})
