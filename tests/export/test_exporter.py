"""examples/export_graph.py itself, where there is torch 2.11: the committed graphs are what it writes, and its errors."""

import pathlib
import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the committed graphs are tested, not their exporter")
if not torch.__version__.startswith("2.11"):
    pytest.skip(f"torch {torch.__version__}: the committed graphs are those of 2.11", allow_module_level=True)
pytest.importorskip("torchvision")
pytest.importorskip("transformers")

import make_models  # noqa: E402
from export_graph import ExportError, export_graph  # noqa: E402

HERE = pathlib.Path(__file__).parent


@pytest.mark.parametrize("name", make_models.MODELS)
def test_committed_graph_is_current(name, tmp_path):
    make_models.make(name, tmp_path)
    for path in tmp_path.glob("*.ind"):
        assert path.read_text() == (HERE / path.name).read_text(), path.name
    assert (tmp_path / f"{name}.safetensors").read_bytes() == (HERE / f"{name}.safetensors").read_bytes()


def export_of(call, folder, **options):
    module = make_models.Calls((call,))
    program = torch.export.export(module, (torch.rand(4, 6),), strict=False, **options)
    export_graph(program, folder / "t.ind", folder / "t.safetensors", "t")
    return (folder / "t.ind").read_text()


def test_all_missing_ops_are_named_at_once(tmp_path):
    with pytest.raises(ExportError) as error:
        export_of(lambda x: torch.poisson(x) + torch.special.ndtri(torch.special.ndtri(x)) + torch.special.airy_ai(x), tmp_path)
    assert "3 of the program's ops cannot be written" in str(error.value)
    for op in ("aten.poisson (1 use)", "aten.special_airy_ai (1 use)", "aten.special_ndtri (2 uses)"):
        assert f"\n  {op}: no rule in TABLE" in str(error.value)


def test_what_has_no_form_says_so(tmp_path):
    for call, words in (
        (lambda x: torch.sin(torch.complex(x, x)).abs(), "aten.sin.default: of complex tensors; not supported"),
        (lambda x: torch.bincount(x.long().view(-1)), "aten.bincount.default: the length of its result has no bound; give torch._check(size <= most)"),
        (lambda x: torch.as_strided_scatter(x.t() * 2, x[:2, :2], (2, 2), (2, 1)), "aten.as_strided_scatter.default: of a tensor that is not contiguous; not supported"),
        (lambda x: torch.ops.aten._grouped_mm(x.bfloat16()[:, :4].repeat(2, 2), x.bfloat16()[:, :4].repeat(2, 2), torch.tensor([2, 8], dtype=torch.int32)),
         "aten._grouped_mm.default: only of groups of rows, and of batches; without bias and out_dtype"),
        (lambda x: torch.view_copy(x, dtype=torch.int32), "aten.view_copy.dtype (1 use): no rule in TABLE"),
        (lambda x: x.sum().item(), "aten._local_scalar_dense (1 use): not supported"),
    ):
        with pytest.raises(ExportError) as error:
            export_of(call, tmp_path)
        assert words in str(error.value)


LINEAR_ALGEBRA = {
    "linalg_lu": torch.linalg.lu, "linalg_lu_factor_ex": torch.linalg.lu_factor, "linalg_qr": torch.linalg.qr, "linalg_cholesky_ex": torch.linalg.cholesky,
    "_linalg_solve_ex": lambda a: torch.linalg.solve(a, a), "linalg_inv_ex": torch.linalg.inv, "_linalg_eigh": torch.linalg.eigh, "_linalg_svd": torch.linalg.svd,
    "linalg_eig": torch.linalg.eigvals, "_linalg_det": torch.linalg.det, "_linalg_slogdet": torch.logdet, "cholesky_solve": lambda a: torch.cholesky_solve(a, a),
    "linalg_solve_triangular": lambda a: torch.linalg.solve_triangular(a, a, upper=True), "linalg_pinv.atol_rtol_tensor": torch.linalg.pinv,
    "triangular_solve": lambda a: torch.triangular_solve(a, a)[0],
}


@pytest.mark.parametrize("op", LINEAR_ALGEBRA)
def test_linear_algebra_is_not_there(op, tmp_path):
    with pytest.raises(ExportError) as error:
        export_of(lambda x: torch.view_as_real(y) if (y := make_models.results(LINEAR_ALGEBRA[op](x[:, :4]))[0]).is_complex() else y, tmp_path)
    assert f"\n  aten.{op} (1 use): not supported: the library has no linear algebra decompositions" in str(error.value)


def test_ops_that_torch_decomposes_by_itself(tmp_path):
    """Rules for ops that are in a program only before it is decomposed."""
    from export_graph import Writer

    aten, image = torch.ops.aten, lambda x: x.view(1, 2, 3, 4)
    for call, want in (
        (lambda x: aten.upsample_linear1d(x[None], [9], True), "upsample_linear1d(unsqueeze, output_size=[9], align_corners=true)"),
        (lambda x: aten.upsample_bilinear2d(image(x), [5, 4], False), "upsample_bilinear2d(view, output_size=[5, 4], align_corners=false)"),
        (lambda x: aten.upsample_bilinear2d(image(x), [6, 6], False, 2.0, 1.5), "upsample_bilinear2d(view, align_corners=false, scale_factors=[2.0, 1.5])"),
        (lambda x: aten.upsample_bicubic2d(image(x), [5, 4], True), "upsample_bicubic2d(view, output_size=[5, 4], align_corners=true)"),
        (lambda x: torch.where(x < 9, x, x.new_empty(4, 6)), "new_empty : f32[4, 6] = full(size=[4, 6], fill_value=0, dtype=f32)"),
    ):
        program = torch.export.export(make_models.Calls((call,)), (torch.rand(4, 6),), strict=False)
        writer = Writer(program, None, None)
        writer.walk()
        assert want in writer.text("t")


def test_sizes_from_data_are_named_and_bounded(tmp_path):
    def chosen(x):
        rows = x[x[:, 0] > 0]
        torch._check(rows.shape[0] >= 2)
        torch._check(rows.shape[0] <= 3)
        values, counts = torch.unique(x.long(), return_counts=True)
        return rows[1], torch.nonzero(x), torch.masked_select(x, x > 0), values, counts

    text = export_of(chosen, tmp_path)
    assert "nonzero(gt, min_length=2, max_length=3)" in text and "return_counts=true, max_length=24)" in text
    assert re.search(r"nonzero : i64\[u\d, \d\] = nonzero\(tensors_0, max_length=24\)", text) and re.search(r"f32\[u\d\] = masked_select\(", text)


def test_ranges_and_assertions_are_kept(tmp_path):
    batch = torch.export.Dim("batch", min=2, max=50)
    text = export_of(lambda x: x.view(-1, 2, 6), tmp_path, dynamic_shapes={"tensors": ({0: 2 * batch},)})
    assert "in [2, 50] hint 2" in text and "input tensors_0 : f32[2*" in text


def test_unbounded_size_gets_a_bound(tmp_path):
    text = export_of(lambda x: x + 1, tmp_path, dynamic_shapes={"tensors": ({0: torch.export.Dim("batch")},)})
    assert ", 65536] hint 4" in text
