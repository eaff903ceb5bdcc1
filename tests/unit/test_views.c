/* Views, pads, pools, convolutions and resampling: shapes, bad input and its words, texts with several results, and the
   builders, which must make what the text makes. */
#define INDUCTOR_GRAPH_IMPLEMENTATION
#include "inductor.h"

#include "check.h"

static const char head[] = "graph t {\n"
                           "  size B in [1, 64]\n"
                           "  size S in [8, 512] multiple_of 8\n"
                           "  size N in [0, 9]\n"
                           "  input x : f32[B, S]\n"
                           "  input m : f32[6, 4]\n"
                           "  input v : f32[5]\n"
                           "  input s0 : f32[]\n"
                           "  input p : bool[3, 3]\n"
                           "  input i : i32[2, 3]\n"
                           "  input big : f32[1, 1, 1, 1, 1, 1, 1, 2]\n"
                           "  input none0 : f32[0, 4]\n"
                           "  input img : f32[B, 4, S, 10]\n"
                           "  input ints : i32[1, 4, 8, 8]\n"
                           "  input mask : bool[1, 4, 8, 8]\n"
                           "  input n4 : f32[2, 4, N, 8]\n"
                           "  input w : f32[6, 4, 3, 3]\n"
                           "  input g : f32[6, 2, 3, 3]\n"
                           "  input b6 : f32[6]\n"
                           "  input h6 : f16[6]\n"
                           "  input w1 : f32[6, 4, 1, 1]\n"
                           "  input w5 : f32[6, 4, 1, 1, 1, 1]\n"
                           "  input grid : f32[B, 3, 3, 2]\n"
                           "  input grid3 : f32[B, 3, 3, 3]\n"
                           "  input cols : f32[2, 36, 12]\n"
                           "  input longs : i64[1, 2, 3]\n"
                           "  computed = neg(m)\n"
                           "  column = select(computed, 1, 1)\n";

/* A call and the types of its results, or ! and what the message says. */
static const struct {
    const char *call, *want;
} cases[] = {
    /* views */
    {"reshape(x, [S, B])", "f32[S, B]"},
    {"reshape(x, [7])", "!cannot be seen as f32[7]"},
    {"reshape(m, [-1, -1])", "!only one size may be -1"},
    {"view_as(m, i)", "!the number of elements differs"},
    {"flatten(img, 1)", "f32[B, 40*S]"},
    {"flatten(s0)", "f32[1]"},
    {"flatten(m, 1, 0)", "!start_dim 1 comes after end_dim 0"},
    {"flatten(m, 0, 2)", "!dim 2 does not exist"},
    {"unflatten(x, 1, [8, -1])", "f32[B, 8, S // 8]"},
    {"unflatten(m, 0, [4, -1])", "!not a multiple of the given sizes"},
    {"unflatten(m, 0, [])", "!sizes is empty"},
    {"broadcast_to(v, [3, 4])", "!only 1 expands"},
    {"expand_as(v, m)", "!only 1 expands"},
    {"broadcast_tensors([m, v])", "!to broadcast they must be equal or 1"},
    {"broadcast_tensors([])", "!at least one tensor is needed"},
    {"meshgrid([v, s0])", "f32[5, 1], f32[5, 1]"},
    {"meshgrid([v, v], indexing=\"xx\")", "!indexing is \"xx\"; allowed: \"ij\", \"xy\""},
    {"meshgrid([m, v])", "!exactly 1 is needed"},
    {"meshgrid([v, i])", "!same element type"},
    {"movedim(img, [1], [-1])", "f32[B, S, 10, 4]"},
    {"movedim(img, [1, 2], [0])", "!they must be as many"},
    {"movedim(img, [1, 1], [0, 2])", "!dim 1 is given twice"},
    {"movedim(s0, [0], [0])", "!has no dimensions"},
    {"narrow(x, 1, S - 8, 8)", "f32[B, 8]"},
    {"narrow(x, 1, 4, S)", "!not known to lie within dim 1"},
    {"narrow(m, 0, 0, -1)", "!not known to lie within"},
    {"split(m, 4)", "f32[4, 4], f32[2, 4]"},
    {"split(x, S, dim=1)", "f32[B, S]"},
    {"split(x, 8, dim=1)", "!depends on the sizes"},
    {"split(m, 0)", "!must be greater than 0"},
    {"split(m, -2)", "!must be greater than 0"},
    {"split(none0, 3)", "f32[0, 4]"},
    {"split(s0, 1)", "!has no dimensions"},
    {"split_with_sizes(m, [1, 2, 3])", "f32[1, 4], f32[2, 4], f32[3, 4]"},
    {"split_with_sizes(x, [8, S - 8], 1)", "f32[B, 8], f32[B, S - 8]"},
    {"split_with_sizes(m, [1, 2])", "!split_sizes add up to 3; dim 0 of m (f32[6, 4]) has 6"},
    {"split_with_sizes(m, [7, -1])", "!may be negative"},
    {"chunk(m, 4)", "f32[2, 4], f32[2, 4], f32[2, 4]"},
    {"chunk(none0, 2)", "f32[0, 4], f32[0, 4]"},
    {"chunk(m, 0)", "!chunks must be greater than 0"},
    {"chunk(x, 3, dim=1)", "!depends on the sizes"},
    {"unbind(i)", "i32[3], i32[3]"},
    {"unbind(x)", "!dim 0 of x (f32[B, S]) is symbolic"},
    {"unbind(none0)", "!it would have no result"},
    {"unfold(x, 1, 8, 4)", "f32[B, S // 4 - 1, 8]"},
    {"unfold(m, 0, 7, 1)", "!size 7 is not known to lie within dim 0"},
    {"unfold(m, 0, 2, 0)", "!step 0; it must be greater than 0"},
    {"unfold(big, 0, 1, 1)", "!the result would have 9 dimensions"},
    {"diagonal(m, 1)", "f32[3]"},
    {"diagonal(m, 9)", "f32[0]"},
    {"diagonal(m, 0, 1, -1)", "!dim1 and dim2 are both 1"},
    {"diagonal(v)", "!dim 1 does not exist"},
    {"as_strided(m, [2, 3], [4, 2], 1)", "f32[2, 3]"},
    {"as_strided(m, [2], [1], 23)", "!not known to lie within m"},
    {"as_strided(m, [2], [1], -1)", "!not known to lie within m"},
    {"as_strided(m, [2], [1, 1])", "!1 sizes and 2 strides"},
    {"as_strided(m, [2], [-1], 4)", "!may be negative"},
    {"as_strided(computed, [6, 4], [4, 1])", "f32[6, 4]"},
    {"as_strided(column, [4], [6])", "f32[4]"}, /* from element 1 on */
    {"as_strided(column, [4], [6], 6)", "!elements up to 24 are not known to lie within computed"},
    {"flip(m, [0, -2])", "!dim 0 is given twice"},
    {"flip(m, [2])", "!dim 2 does not exist"},
    {"roll(x, [1, S//2], [0, 1])", "f32[B, S]"},
    {"roll(m, [1, 2])", "!2 shifts are given, 1 is needed"},
    {"roll(m, 1, [0, 1])", "!1 shifts are given, 2 are needed"},
    {"roll(m, 1, 2)", "!dim 2 does not exist"},
    {"repeat(x, [2, B, 1])", "f32[2, B*B, S]"},
    {"repeat(m, [2])", "!1 repeats are given; m (f32[6, 4]) has 2 dimensions"},
    {"repeat(m, [2, -1])", "!may be negative"},
    {"tile(m, [2])", "f32[6, 8]"},
    {"tile(v, [2, 3])", "f32[2, 15]"},
    {"pixel_shuffle(img, 2)", "f32[B, 1, 2*S, 20]"},
    {"pixel_shuffle(img, 3)", "!not known to be a multiple of 9"},
    {"pixel_shuffle(m, 1)", "!at least 3 dimensions"},
    {"pixel_unshuffle(img, 2)", "f32[B, 16, S // 2, 5]"},
    {"pixel_unshuffle(img, 0)", "!must be greater than 0"},
    /* data movement */
    {"stack([m, m], dim=-1)", "f32[6, 4, 2]"},
    {"stack([i, m])", "!i has 2"},
    {"stack([v, m])", "!same number of dimensions"},
    {"stack([m], dim=3)", "!dim 3 does not exist"},
    {"stack([])", "!at least one tensor is needed"},
    {"select_scatter(m, v, 1, 0)", "!v is f32[5]; the replaced part is f32[6]"},
    {"select_scatter(m, b6, 1, 4)", "!index 4 is not known to lie within dim 1"},
    {"slice_scatter(m, m, 0, 1)", "!the replaced part is f32[5, 4]"},
    {"slice_scatter(m, m, 0, 0, 6, 0)", "!step 0; it must be greater than 0"},
    {"diagonal_scatter(m, v)", "!the replaced part is f32[4]"},
    {"tril(v)", "!at least 2 dimensions"},
    {"one_hot(i, 5)", "i64[2, 3, 5]"},
    {"one_hot(m, 5)", "!indices must be i32 or i64"},
    {"one_hot(i, -1)", "!the size would depend on the data"},
    {"one_hot(i, 0)", "!num_classes 0; it must be greater than 0"},
    {"eye(B, dtype=bool)", "bool[B, B]"},
    {"eye(-1)", "!may be negative"},
    {"linspace(0, 1, 3, dtype=bool)", "!dtype is bool; a type that is computed with is needed"},
    {"linspace(0, 1, -3)", "!may be negative"},
    /* pads */
    {"constant_pad_nd(x, [1, 2, -1, 3])", "f32[B + 2, S + 3]"},
    {"constant_pad_nd(m, [1])", "!1 paddings are given"},
    {"constant_pad_nd(m, [-3, -2])", "!size -1 (dim 1) may be negative"},
    {"constant_pad_nd(v, [1, 1, 1, 1])", "!4 paddings are given"},
    {"reflection_pad1d(x, [7, 7])", "f32[B, S + 14]"},
    {"reflection_pad1d(x, [8, 0])", "!not known to have enough elements to pad 8 with"},
    {"reflection_pad2d(x, [1, 1, 1, 1])", "!4 paddings need 3 or 4 dimensions"},
    {"reflection_pad2d(img, [1, 1])", "!two are needed for each of the dimensions that it pads"},
    {"replication_pad1d(none0, [1, 1])", "f32[0, 6]"},
    {"replication_pad2d(n4, [1, 1, 1, 1])", "!not known to have enough elements"},
    {"pad(x, [8, 8], mode=\"circular\")", "f32[B, S + 16]"},
    {"pad(x, [9, 8], mode=\"circular\")", "!not known to have enough elements to pad 9 with"},
    {"pad(x, [1, 1], mode=\"mirror\")", "!mode is \"mirror\"; allowed: \"constant\", \"reflect\""},
    /* pools */
    {"max_pool2d(img, 2)", "f32[B, 4, S // 2, 5]"},
    {"max_pool2d(img, [3, 2], [2, 1], [1, 0], ceil_mode=true)", "f32[B, 4, S // 2 + 1, 9]"},
    {"max_pool2d_with_indices(ints, 3, 2, 1)", "i32[1, 4, 4, 4], i64[1, 4, 4, 4]"},
    {"max_pool2d(mask, 2)", "!mask is bool; a number type is needed"},
    {"max_pool2d(m, 2)", "!3 or 4 dimensions are needed"},
    {"max_pool2d(img, [2, 2, 2])", "!kernel_size has the wrong number of elements; 1 or 2 are needed"},
    {"max_pool2d(img, 2, [1, 2, 3])", "!stride has the wrong number"},
    {"max_pool2d(img, 0)", "!kernel size 0; it must be greater than 0"},
    {"max_pool2d(img, 2, 0)", "!stride 0; it must be greater than 0"},
    {"max_pool2d(img, 2, 2, 2)", "!padding 2 is more than half of the kernel"},
    {"max_pool2d(img, 2, 2, -1)", "!padding -1 may be negative"},
    {"max_pool2d(img, 3, dilation=[1, 5])", "!not known to hold a window"},
    {"max_pool2d(n4, 2)", "!dim 2 of n4 (f32[2, 4, N, 8]) is not known to hold a window"},
    {"avg_pool2d(ints, 2)", "!averages are of f16, bf16, f32, f64 and i64"},
    {"avg_pool2d(longs, 2)", "i64[1, 1, 1]"},
    {"adaptive_avg_pool2d(longs, 1)", "!a floating-point type is needed"},
    {"avg_pool2d(img, 2, [])", "f32[B, 4, S // 2, 5]"},
    {"avg_pool2d(img, [])", "!kernel_size has the wrong number of elements"},
    {"avg_pool2d(img, 2, 2, [])", "!padding has the wrong number of elements"},
    {"conv2d(img, w, stride=[])", "!stride has the wrong number of elements"},
    {"avg_pool2d(img, 2, divisor_override=0)", "!divisor_override is 0"},
    {"avg_pool1d(m, 2, ceil_mode=true)", "f32[6, 2]"},
    {"adaptive_avg_pool2d(img, [3, B])", "f32[B, 4, 3, B]"},
    {"adaptive_avg_pool2d(img, [1, 2, 3])", "!output_size has 3 elements"},
    {"adaptive_avg_pool2d(img, 0)", "!output size 0; it must be greater than 0"},
    {"adaptive_max_pool2d(n4, 2)", "!input size N; it must be greater than 0"},
    /* convolutions */
    {"conv2d(img, w, b6, padding=1)", "f32[B, 6, S, 10]"},
    {"conv2d(img, w, stride=2)", "f32[B, 6, S // 2 - 1, 4]"},
    {"conv2d(img, g, groups=2)", "f32[B, 6, S - 2, 8]"},
    {"conv2d(img, g)", "!img has 4 channels (dim 1 of f32[B, 4, S, 10]), g expects 2"},
    {"conv2d(img, w, h6)", "!same element type"},
    {"conv2d(img, w, v)", "!6 elements are needed"},
    {"conv2d(img, m)", "!exactly 4 are needed"},
    {"conv2d(img, w, groups=0)", "!groups is 0"},
    {"conv2d(img, w, stride=0)", "!stride 0; it must be greater than 0"},
    {"conv2d(img, w, padding=-1)", "!may be negative"},
    {"conv2d(img, w, dilation=5)", "!not known to hold a window"},
    {"conv2d(mask, w)", "!same element type"},
    {"conv1d(img, w)", "!exactly 3 are needed"},
    {"convolution(img, w5, none, [1], [0], [1], false, [0], 1)", "!a weight has 3, 4 or 5 dimensions"},
    {"conv_transpose2d(img, g, stride=2)", "!img has 4 channels"},
    {"conv_transpose2d(cols, g)", "!cols has 2 channels"},
    {"conv_transpose2d(img, w, output_padding=1)", "!output_padding 1 must be smaller than stride or dilation"},
    /* resampling */
    {"upsample_nearest2d(img, scale_factors=[2.0, 1.5])", "f32[B, 4, 2*S, 15]"},
    {"upsample_nearest2d(img)", "!either the output size or scale factors must be given"},
    {"upsample_nearest2d(img, [4, 4], [2.0, 2.0])", "!either the output size or scale factors must be given"},
    {"upsample_nearest2d(img, scale_factors=[0.3])", "!give the output size"},
    {"upsample_nearest2d(img, scale_factors=[-1])", "!1 or 2 positive scale factors"},
    {"upsample_nearest2d(img, scale_factors=[nan])", "!1 or 2 positive scale factors"},
    {"upsample_nearest2d(img, scale_factors=[1, 2, 3])", "!1 or 2 positive scale factors"},
    {"upsample_nearest2d(img, [0, 4])", "!output size 0; it must be greater than 0"},
    {"upsample_nearest2d(m, [4, 4])", "!a batch, channels and"},
    {"upsample_bilinear2d(ints, [4, 4])", "!a floating-point type is needed"},
    {"upsample_bilinear2d(img, [4, 4, 4])", "!the output size has 3 elements"},
    {"interpolate(img, size=[4, 4], mode=\"linear\")", "!mode is \"linear\""},
    {"interpolate(img, scale_factor=2, mode=\"bilinear\")", "f32[B, 4, 2*S, 20]"},
    {"grid_sampler_2d(img, grid, 0, 0, true)", "f32[B, 4, 3, 3]"},
    {"grid_sampler_2d(img, grid3, 0, 0, true)", "!its last dimension must be 2"},
    {"grid_sampler_2d(img, grid, 2, 0, true)", "f32[B, 4, 3, 3]"},
    {"grid_sampler_2d(img, grid, 3, 0, true)", "!interpolation_mode is 0 (linear), 2 (bicubic)"},
    {"grid_sampler_2d(img, grid, 0, 3, true)", "!padding_mode 0 (zeros), 1 (border) or 2"},
    {"im2col(img, 3, 1, 0, 1)", "f32[B, 36, 8*S - 16]"},
    {"im2col(m, 3, 1, 0, 1)", "!3 or 4 dimensions are needed"},
    {"im2col(img, 11, 1, 0, 1)", "!not known to hold a window"},
    {"col2im(cols, [5, 6], 3, 1, 0, 1)", "f32[2, 4, 5, 6]"},
    {"col2im(cols, [5, 5], 3, 1, 0, 1)", "!must be a multiple of 9 (the kernel) and 9 (the windows)"},
    {"col2im(cols, [5], 3, 1, 0, 1)", "!output_size must have 2 elements"},
    /* gradients */
    {"convolution_backward(img, img, w, none, [1], [1], [1], false, [0], 1)", "!the op's result is f32[B, 6, S, 10]"},
    {"convolution_backward(img, img, g, none, [1], [1], [1], false, [0], 1)", "!img has 4 channels"},
    {"convolution_backward(w, w, w1, none, [1], [0], [1], true, [0], 1)", "!w has 4 channels"},
    {"convolution_backward(m, m, m, none, [1], [0], [1], true, [0], 1)", "!must both have 3, 4 or 5 dimensions"},
};

/* "f32[4, 4], f32[2, 4]" of the results of the last op. */
static void print_types(const ind_graph *g, char *out, size_t bytes) {
    const ind__node *n = &g->node[g->num_nodes - 1];
    size_t used = 0;
    *out = 0;
    for (uint32_t r = 0; r < n->num_results && used + 64 < bytes; r++) {
        const ind__tensor_info *t = &g->tensor[n->result + r];
        used += (size_t)snprintf(out + used, bytes - used, "%s", r ? ", " : "");
        ind__print_type(out + used, bytes - used, t->dtype, t->size, t->rank);
        used += strlen(out + used);
    }
}

static int count_results(const char *want) {
    int n = 1;
    for (const char *s = want; *want != '!' && (s = strstr(s, "], ")) != NULL; s++) n++;
    return n;
}

static void test_case(ind_context *c, const char *call, const char *want) {
    char text[8192], got[1200] = "?", names[200] = "r";
    for (int k = 1; k < count_results(want); k++)
        snprintf(names + strlen(names), sizeof names - strlen(names), ", r%d", k);
    snprintf(text, sizeof text, "%s  %s = %s\n}\n", head, names, call);
    ind_graph *g = ind_graph_parse(c, text, "case");
    if (!g) {
        bool said = *want == '!' && strstr(ind_error(c), want + 1) && strncmp(ind_error(c), "case:", 5) == 0;
        CHECK(said, "%s: %s", call, ind_error(c));
        return;
    }
    print_types(g, got, sizeof got);
    CHECK(strcmp(got, want) == 0, "%s gives %s", call, got);
    CHECK(ind__graph_verify(g) == IND_OK, "%s: %s", call, ind_error(c));
    const char *printed = ind_graph_text(g);
    ind_graph *again = printed ? ind_graph_parse(c, printed, "again") : NULL;
    CHECK(again && strcmp(ind_graph_text(again), printed) == 0, "%s: %s", call, ind_error(c));
    ind_graph_destroy(again);
    ind_graph_destroy(g);
}

/* ---- texts with several results */

static void expect_error(ind_context *c, const char *body, const char *want) {
    char text[400];
    snprintf(text, sizeof text, "graph t {\n  input a : f32[6, 4]\n  %s\n}\n", body);
    ind_graph *g = ind_graph_parse(c, text, "t");
    CHECK(!g && strstr(ind_error(c), want), "%s: %s", body, g ? "accepted" : ind_error(c));
    ind_graph_destroy(g);
}

static void test_results(ind_context *c) {
    expect_error(c, "x, y = split(a, 2)", "t:3:3: split has 3 results, 2 names are given");
    expect_error(c, "x, y, z, w = split(a, 2)", "split has 3 results, 4 names are given");
    expect_error(c, "x, y, x = split(a, 2)", "the name \"x\" is given twice");
    expect_error(c, "x, y : f32[9] , z = split(a, 2)", "y is written as f32[9], the op gives f32[2, 4]");
    expect_error(c, "x, y = exp(a)", "exp has 1 result, 2 names are given");
    ind_graph *g = ind_graph_create(c, "many");
    ind_tensor x = ind_arange(g, (ind_expr){0}, ind_int(c, 2000), (ind_expr){0}, IND_F32);
    CHECK(ind_num_results(x) == 1, "%d", ind_num_results(x));
    ind_tensor parts = ind_unbind(x, 0);
    CHECK(!parts.id && ind_graph_status(g) == IND_ERROR_LIMIT, "%s", ind_graph_error(g));
    ind_graph_destroy(g);
}

/* ---- builders: each must make the node that its text makes */

static void same_text(ind_context *c, ind_graph *g, const char *body) {
    char text[2000];
    snprintf(text, sizeof text,
             "graph t {\n  input x : f32[2, 4, 6, 8]\n  input i : i64[3]\n  input w : f32[6, 2, 3, 3]\n  input v : "
             "f32[4, 4, 1, 1]\n%s}\n",
             body);
    ind_graph *read = ind_graph_parse(c, text, "t");
    CHECK(read, "%s", ind_error(c));
    CHECK(ind_graph_status(g) == IND_OK, "%s", ind_graph_error(g));
    const char *built = ind_graph_text(g), *want = read ? ind_graph_text(read) : NULL;
    CHECK(built && want && strcmp(built, want) == 0, "built\n%sread\n%s", built ? built : "?", want ? want : "?");
    ind_graph_destroy(read);
}

static ind_graph *start(ind_context *c, ind_tensor in[4]) {
    ind_graph *g = ind_graph_create(c, "t");
    in[0] = ind_input(g, "x", "f32[2, 4, 6, 8]");
    in[1] = ind_input(g, "i", "i64[3]");
    in[2] = ind_input(g, "w", "f32[6, 2, 3, 3]");
    in[3] = ind_input(g, "v", "f32[4, 4, 1, 1]");
    return g;
}

static void test_view_builders(ind_context *c) {
    ind_tensor in[4], x, two[2];
    ind_graph *g = start(c, in);
    ind_expr size[4] = {ind_int(c, 8), ind_int(c, 6), ind_int(c, 8), ind_int(c, 1)}, one = ind_int(c, 1);
    int dims[2] = {0, -1};
    x = two[0] = two[1] = in[0];
    ind_output(g, "a", ind_reshape(x, size, 3));
    ind_output(g, "b", ind_flatten(x, 1, 2));
    ind_output(g, "c", ind_unflatten(x, 3, size, 1));
    ind_output(g, "d", ind_movedim(x, 1, -1));
    ind_output(g, "e", ind_narrow(x, 2, one, ind_int(c, 3)));
    ind_tensor parts = ind_split(x, ind_int(c, 4), 3);
    ind_output(g, "f", ind_result(parts, 1));
    ind_output(g, "h", ind_unfold(x, 3, ind_int(c, 4), ind_int(c, 2)));
    ind_output(g, "k", ind_diagonal(x, 1, 2, 3));
    ind_output(g, "l", ind_as_strided(x, size, size, 2, one));
    ind_output(g, "m", ind_flip(x, dims, 2));
    ind_output(g, "n", ind_roll(x, ind_int(c, 3), 2));
    ind_output(g, "o", ind_roll(x, ind_int(c, 3), IND_ALL_DIMS));
    ind_output(g, "p", ind_pixel_shuffle(x, 2));
    ind_output(g, "q", ind_stack(two, 2, 1));
    ind_output(g, "r", ind_one_hot(in[1], ind_int(c, 5)));
    ind_output(g, "s", ind_tril(x, (ind_expr){0}));
    ind_output(g, "u", ind_slice_scatter(x, x, 1, (ind_expr){0}, (ind_expr){0}, one));
    same_text(
        c, g,
        "  a = reshape(x, [8, 6, 8])\n  b = flatten(x, 1, 2)\n  c = unflatten(x, 3, [8])\n"
        "  d = movedim(x, 1, -1)\n  e = narrow(x, 2, 1, 3)\n  split, f = split(x, 4, 3)\n  h = unfold(x, 3, 4, 2)\n"
        "  k = diagonal(x, 1, 2, 3)\n  l = as_strided(x, [8, 6], [8, 6], 1)\n  m = flip(x, [0, -1])\n"
        "  n = roll(x, 3, 2)\n  o = roll(x, 3)\n  p = pixel_shuffle(x, 2)\n  q = stack([x, x], dim=1)\n"
        "  r = one_hot(i, 5)\n  s = tril(x)\n  u = slice_scatter(x, x, 1)\n"
        "  output a, b, c, d, e, f, h, k, l, m, n, o, p, q, r, s, u\n");
    ind_graph_destroy(g);
}

static void test_window_builders(ind_context *c) {
    ind_tensor in[4], indices;
    ind_graph *g = start(c, in);
    ind_pool_desc pool = {.kernel_size = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .ceil_mode = true};
    ind_conv_desc conv = {.stride = {2, 1}, .padding = {1, 1}, .groups = 2};
    ind_expr size[4] = {ind_int(c, 3), ind_int(c, 2), ind_int(c, 1), ind_int(c, -1)};
    ind_output(g, "a", ind_max_pool(in[0], 2, &pool, &indices));
    ind_output(g, "b", indices);
    pool.count_exclude_pad = true;
    pool.divisor_override = 7;
    ind_output(g, "c", ind_avg_pool(in[0], 2, &pool));
    ind_output(g, "d", ind_adaptive_avg_pool(in[0], size, 2));
    ind_output(g, "e", ind_convolution(in[0], in[2], IND_NO_TENSOR, &conv));
    ind_output(g, "f", ind_pad(in[0], size, 4, IND_PAD_CONSTANT, 2));
    double scales[2] = {2, 1.5};
    ind_output(g, "h", ind_interpolate(in[0], NULL, 0, scales, 2, IND_INTERPOLATE_LINEAR, true));
    ind_output(g, "k", ind_im2col(in[0], &(ind_pool_desc){.kernel_size = {2, 2}, .padding = {1, 0}}));
    ind_tensor grad = ind_convolution_backward(ind_result(in[0], 0), in[0], in[3], NULL);
    ind_output(g, "l", ind_result(grad, 1));
    same_text(c, g,
              "  a, b = max_pool2d_with_indices(x, [3, 2], [2, 1], [1, 0], ceil_mode=true)\n"
              "  c = avg_pool2d(x, [3, 2], [2, 1], [1, 0], true, false, 7)\n  d = adaptive_avg_pool2d(x, [3, 2])\n"
              "  e = conv2d(x, w, stride=[2, 1], padding=[1, 1], groups=2)\n  f = pad(x, [3, 2, 1, -1], value=2)\n"
              "  h = interpolate(x, scale_factor=[2.0, 1.5], mode=\"bilinear\", align_corners=true)\n"
              "  k = im2col(x, [2, 2], [1, 1], [1, 0], [1, 1])\n"
              "  convolution_backward, l, convolution_backward_2 = convolution_backward(x, x, v, none, [1, 1], [0, 0], "
              "[1, 1], false, [0, 0], 1)\n  output a, b, c, d, e, f, h, k, l\n");
    CHECK(!ind_max_pool(in[0], 4, &pool, NULL).id && ind_graph_status(g) == IND_ERROR_INVALID_ARGUMENT, "%s",
          ind_graph_error(g));
    ind_graph_destroy(g);
}

/* ---- every allocation made to fail in turn */

static const char allocations[] =
    "graph t {\n  size S in [4, 64] multiple_of 4\n  input x : f32[2, 4, S, 8]\n"
    "  input w : f32[6, 2, 3, 3]\n  a, b, c, d, e, f, g, h = unbind(x, 3)\n"
    "  s = stack([a, b, c, d, e, f, g, h], dim=3)\n  p = pad(s, [1, 1, 1, 1], mode=\"reflect\")\n"
    "  m, i = max_pool2d_with_indices(p, 2)\n  y = conv2d(m, w, padding=1, groups=2)\n"
    "  z = upsample_bilinear2d(y, scale_factors=[2.0, 1.5])\n  output z, i\n}\n";

/* True if no allocation failed, and so nothing else may have; whatever failed, nothing may be left behind. */
static bool run_allocations(long fail_at, bool compile) {
    check_heap heap = {.fail_at = fail_at};
    ind_context_desc desc = {.device = IND_DEVICE_HOST, .allocator = {check_alloc, check_free, &heap}};
    ind_context *c = NULL;
    ind_status status = ind_context_create(&desc, &c);
    ind_graph *g = status ? NULL : ind_graph_parse(c, allocations, "t");
    ind_module *m = NULL;
    if (!status && !g) status = ind_error_status(c);
    if (g && compile) status = ind_compile(g, &(ind_compile_desc){.emit_only = true}, &m);
    CHECK(status == IND_OK || status == IND_ERROR_OUT_OF_MEMORY, "allocation %ld: status %d", fail_at, (int)status);
    ind_context_destroy(c);
    CHECK(heap.live == 0, "allocation %ld: %ld blocks are left", fail_at, heap.live);
    return heap.calls < fail_at && status == IND_OK;
}

static void test_allocations(void) {
    bool parsed = false, compiled = false;
    for (long n = 1; n < 1000000 && !parsed; n += n < 400 ? 1 : n / 20) parsed = run_allocations(n, false);
    for (long n = 1; n < 1000000 && !compiled; n += n < 100 ? 1 : n / 10) compiled = run_allocations(n, true);
    CHECK(parsed && compiled, "it never succeeds");
}

int main(void) {
    ind_context *c;
    if (ind_context_create(&(ind_context_desc){.device = IND_DEVICE_HOST}, &c)) return 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) test_case(c, cases[i].call, cases[i].want);
    test_results(c);
    test_view_builders(c);
    test_window_builders(c);
    test_allocations();
    ind_context_destroy(c);
    return check_summary();
}
