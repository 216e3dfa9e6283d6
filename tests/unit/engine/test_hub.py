"""The hub client: what it asks for, what it makes of the answers, and whom it shows the token."""

from __future__ import annotations

import hashlib
import json

import pytest

from engine.errors import AccessRefused, EngineError, HubError, NotOnHub, SourceError, UnsupportedModel
from engine.hub_access import HubAccess, SearchFilters, SearchOrder
from engine.store.hub import HubClient
from engine.store.hub_model import learn_model
from engine.store.patience import Patience
from tests.helpers.hub_server import COMMIT, FakeRepo, Fault, HubServer, blob_id

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
SHARD = "model.safetensors"


def client(server: HubServer, token: str | None = None) -> HubClient:
    return HubClient(HubAccess(token=token, endpoint=server.endpoint), patience=Patience(attempts=1))


def config(**changes: object) -> bytes:
    return json.dumps({**LLAMA, **changes}).encode()


def shard(dtype: str = "BF16", name: str = "model.embed_tokens.weight", size: int = 2) -> bytes:
    header = json.dumps({name: {"dtype": dtype, "shape": [4, 4], "data_offsets": [0, 16 * size]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(16 * size)


def test_a_repository_is_described_by_one_request() -> None:
    files = {"config.json": b"{}", SHARD: shard()}
    with HubServer({"acme/tiny": FakeRepo(files)}) as server:
        repo = client(server).repository("acme/tiny")
        assert len(server.seen) == 1
        assert (repo.owner, repo.name, repo.commit, repo.is_gated) == ("acme", "tiny", COMMIT, False)
        assert repo.file(SHARD).sha256 == hashlib.sha256(files[SHARD]).hexdigest()
        assert repo.file("config.json").blob_id == blob_id(b"{}")
        assert repo.modified_ns % (2 * 10**9) == 0
        assert "strata/" in server.seen[0].user_agent


def test_a_range_is_all_that_is_fetched() -> None:
    data = bytes(range(256)) * 100
    with HubServer({"acme/tiny": FakeRepo({SHARD: data})}) as server:
        hub = client(server)
        repo = hub.repository("acme/tiny")
        assert hub.read_range(repo, repo.file(SHARD), 300, 400) == data[300:400]
        assert sum(seen.sent for seen in server.seen if seen.server == "storage") == 100
        server.faults = [Fault(SHARD, server="storage", ignores_range=True)]
        assert hub.read_range(repo, repo.file(SHARD), 300, 400) == data[300:400]


def test_the_token_is_shown_to_the_hub_only() -> None:
    with HubServer({"acme/tiny": FakeRepo({SHARD: shard()}, private=True)}) as server:
        server.tokens = {"hf_known"}
        hub = client(server, "hf_known")
        repo = hub.repository("acme/tiny")
        hub.read_small(repo, repo.file(SHARD))
        assert {(seen.server, seen.token) for seen in server.seen} == {("hub", "hf_known"), ("storage", None)}


def test_no_token_of_this_machine_is_sent_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_FromTheEnvironment")
    with HubServer({"acme/tiny": FakeRepo({})}) as server:
        client(server).repository("acme/tiny")
        assert server.seen[0].token is None


@pytest.mark.parametrize(
    ("repo", "revision", "token", "kind", "says"),
    [
        ("acme/none", None, None, NotOnHub, "If it is private"),
        ("acme/none", None, "hf_known", NotOnHub, "There is no acme/none"),
        ("acme/secret", None, None, NotOnHub, "If it is private"),
        ("acme/tiny", "v9", None, NotOnHub, "no such revision"),
        ("acme/tiny", None, "hf_wrong", AccessRefused, "does not accept this access token"),
    ],
)
def test_who_may_not_is_told_why(
    repo: str, revision: str | None, token: str | None, kind: type[EngineError], says: str
) -> None:
    with HubServer({"acme/tiny": FakeRepo({}), "acme/secret": FakeRepo({}, private=True)}) as server:
        server.tokens = {"hf_known"}
        with pytest.raises(kind, match=says):
            client(server, token).repository(repo, revision)


def test_what_is_no_hub_is_recognised() -> None:
    with HubServer({}) as server:
        server.faults = [Fault("api", page=True)]
        with pytest.raises(HubError, match="not a model hub"):
            client(server).repository("acme/tiny")


def test_a_search_gives_what_a_choice_needs() -> None:
    parameters = {"BF16": 1000, "F32": 10}
    repos = {
        "acme/Tiny-Chat": FakeRepo({}, extra={
            "downloads": 5, "likes": 2, "library_name": "transformers", "pipeline_tag": "text-generation",
            "safetensors": {"parameters": parameters, "total": 1010}, "config": LLAMA,
        }),
        "acme/tiny-awq": FakeRepo({}, gated=True, extra={
            "downloads": 9, "config": {**LLAMA, "quantization_config": {"quant_method": "awq"}},
        }),
        "other/big": FakeRepo({}),
    }  # fmt: skip
    with HubServer(repos) as server:
        hits = client(server).search("tiny", SearchFilters(), 10)
        assert [hit.repo for hit in hits] == ["acme/tiny-awq", "acme/Tiny-Chat"]
        assert hits[1].nbytes == 2040
        assert (hits[1].parameters, hits[1].downloads, hits[1].likes, hits[1].is_gated) == (1010, 5, 2, False)
        assert hits[1].page == f"{server.endpoint}/acme/Tiny-Chat"
        assert hits[1].reason == ""
        assert hits[0].is_gated
        assert "quantised (awq)" in hits[0].reason
        assert hits[0].nbytes is None


def test_filters_are_the_hubs_own() -> None:
    filters = SearchFilters(author="acme", min_parameters=5, max_parameters=9, order=SearchOrder.TRENDING)
    with HubServer({"acme/tiny": FakeRepo({})}) as server:
        assert [hit.repo for hit in client(server).search(" ", filters, 3)] == ["acme/tiny"]
        asked = server.paths()[0]
        for part in ("author=acme", "num_parameters=min%3A5%2Cmax%3A9", "sort=trendingScore", "filter=safetensors",
                     "pipeline_tag=text-generation", "limit=3"):  # fmt: skip
            assert part in asked


def test_a_search_that_fails_does_so_at_once() -> None:
    with HubServer({}) as server:
        server.faults = [Fault("api", status=503, times=9)]
        with pytest.raises(EngineError, match="503"):
            client(server).search("x", SearchFilters(), 3)
        assert len(server.seen) == 1


def test_a_card_comes_without_its_head() -> None:
    card = b"---\nlicense: mit\ntags:\n- x\n---\n\n# Tiny\n\n---\nA model.\n"
    with HubServer({"acme/tiny": FakeRepo({"README.md": card}), "acme/bare": FakeRepo({})}) as server:
        assert client(server).model_card("acme/tiny") == "# Tiny\n\n---\nA model.\n"
        assert client(server).model_card("acme/bare") == ""
        with pytest.raises(NotOnHub):
            client(server).model_card("acme/none")


BIG = bytes(4_000_000)


@pytest.mark.parametrize(
    ("files", "kind", "says"),
    [
        ({"config.json": config(model_type="unheard_of")}, UnsupportedModel, "unheard_of"),
        ({"config.json": config(model_type="own", auto_map={"AutoModel": "own.Own"})}, UnsupportedModel, "Python code"),
        ({"config.json": config(quantization_config={"quant_method": "gptq"})}, UnsupportedModel, "quantised .gptq"),
        ({"config.json": config(), "quantize_config.json": b"{}"}, UnsupportedModel, "quantised .gptq"),
        ({"config.json": config(), SHARD: shard("F8_E4M3", size=1)}, UnsupportedModel, "quantised"),
        ({"config.json": config(is_encoder_decoder=True)}, UnsupportedModel, "encoder-decoder"),
        ({"adapter_config.json": b'{"base_model_name_or_path": "acme/base"}'}, SourceError, "LoRA. of acme/base"),
        ({"config.json": config(), "adapter_config.json": b"{}"}, SourceError, "only an adapter"),
        ({"model_index.json": BIG}, SourceError, "image model"),
        ({"params.json": BIG}, SourceError, "maker's own format"),
        ({"tiny.Q4_K_M.gguf": BIG}, SourceError, "GGUF files only"),
        ({"config.json": config(), "tf_model.h5": BIG}, UnsupportedModel, "format Strata does not read"),
        ({"config.json": config(), SHARD: BIG}, SourceError, "not a safetensors file"),
        ({"config.json": config(), "a.safetensors": shard(), "b.safetensors": shard()}, SourceError, "several weight"),
        ({"config.json": config(), "model-00001-of-00002.safetensors": shard()}, SourceError, "missing in acme/tiny"),
        ({"config.json": b"<!DOCTYPE html><html></html>"}, SourceError, "web page"),
        ({}, SourceError, "acme/tiny has no config.json"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_from_a_megabyte(
    files: dict[str, bytes], kind: type[EngineError], says: str, tmp_path: object
) -> None:
    with HubServer({"acme/tiny": FakeRepo({"pytorch_model.gguf.txt": b"", **files})}) as server:
        hub = client(server)
        with pytest.raises(kind, match=says) as caught:
            learn_model(hub, hub.repository("acme/tiny"), tmp_path)  # pyright: ignore[reportArgumentType]
        assert str(tmp_path) not in str(caught.value)
        assert server.sent() < 1_000_000


def test_names_that_leave_the_folder_are_never_chosen(tmp_path: object) -> None:
    files = {
        "config.json": config(), SHARD: shard(), "../tokenizer.json": b"x",
        "additional_chat_templates/../x.jinja": b"x",
        ".git/config": b"x", "C:tokenizer.json": b"x", "tokenizer.json": b"{}", "README.md": b"x",
    }  # fmt: skip
    with HubServer({"acme/tiny": FakeRepo(files)}) as server:
        hub = client(server)
        model = learn_model(hub, hub.repository("acme/tiny"), tmp_path)  # pyright: ignore[reportArgumentType]
    assert sorted(model.files) == ["config.json", SHARD, "tokenizer.json"]
