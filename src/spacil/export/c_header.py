"""A policy as one C header: C99 and C++11, no library, not even libm, and no memory allocated.

Numbers are printed with nine digits, which give the same float32 back. Weights stand column by
column, so that the inner loop runs over outputs: a compiler makes vector code of it without leave
to reorder sums, and every compiler adds in the same order. tanh is a fraction of two polynomials
for the same reason; the C library's would take most of the time.
"""

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spacil.nets.policy import CLIP, GaussianPolicy
from spacil.policies.history import Layout
from spacil.policies.onnx import arrays_of
from spacil.version import __version__

_NUMBERS_PER_LINE = 8

_TEMPLATE = """\
/* {title}, written by spacil {version}.
 *
{note}
 */
#ifndef SPACIL_POLICY_H
#define SPACIL_POLICY_H

#include <math.h>
#include <stdint.h>

#define SPACIL_POLICY_TASK {task}
#define SPACIL_POLICY_SHA256 "{policy_hash}"
#define SPACIL_POLICY_NUM_OBSERVATIONS {num_states}
#define SPACIL_POLICY_NUM_ACTIONS {num_actions}
{dt}#define SPACIL_POLICY_TOLERANCE {tolerance} /* of the self-test */

#ifdef __cplusplus
#define SPACIL_POLICY_RESTRICT __restrict
#else
#define SPACIL_POLICY_RESTRICT restrict
#endif

{arrays}

/* tanh(x) = 2 t / (1 + t * t) with t = tanh(x / 2) = p / q, the seventh convergent of its continued
 * fraction: within 3e-7 everywhere. Beyond 9 a float of tanh is 1. */
static inline float spacil_policy_tanh(float x)
{{
    const float h = 0.5f * (x < -9.0f ? -9.0f : x > 9.0f ? 9.0f : x), s = h * h;
    const float p = h * (135135.0f + s * (17325.0f + s * (378.0f + s)));
    const float q = 135135.0f + s * (62370.0f + s * (3150.0f + s * 28.0f));
    return 2.0f * p * q / (p * p + q * q);
}}

/* By its bits: under -ffast-math a compiler takes isfinite() to be true. */
static inline int spacil_policy_is_finite(float x)
{{
    union {{
        float number;
        uint32_t bits;
    }} view;
    view.number = x;
    return (view.bits & 0x7f800000u) != 0x7f800000u;
}}

static inline float spacil_policy_clip(float x, float low, float high)
{{
    return x < low ? low : x > high ? high : x;
}}

/* outputs = inputs * weights + biases; weights [num_inputs][num_outputs] */
static inline void spacil_policy_layer(const float *SPACIL_POLICY_RESTRICT weights,
                                       const float *SPACIL_POLICY_RESTRICT biases,
                                       const float *SPACIL_POLICY_RESTRICT inputs, int num_inputs,
                                       float *SPACIL_POLICY_RESTRICT outputs, int num_outputs)
{{
    for (int o = 0; o < num_outputs; ++o) outputs[o] = biases[o];
    for (int i = 0; i < num_inputs; ++i, weights += num_outputs)
        for (int o = 0; o < num_outputs; ++o) outputs[o] += inputs[i] * weights[o];
}}

/* Raw observation in, final action out. Returns 0; or -1, with the action left alone, if a number
 * of the observation is NaN or infinite. Keeps no state: safe from several threads. */
static inline int spacil_policy(const float *observation, float *action)
{{
    float a[{width}], b[{width}];
    for (int i = 0; i < {num_states}; ++i) {{
        if (!spacil_policy_is_finite(observation[i])) return -1;
        a[i] = (observation[i] - spacil_policy_shift[i]) * spacil_policy_scale[i];
        a[i] = spacil_policy_clip(a[i], -{limit}, {limit});
    }}
{layers}
    for (int i = 0; i < {num_actions}; ++i)
        action[i] = spacil_policy_clip({last}[i], spacil_policy_low[i], spacil_policy_high[i]);
    return 0;
}}

{loop}#ifdef SPACIL_POLICY_SELF_TEST
{golden}

/* The largest difference to what Python answered: SPACIL_POLICY_TOLERANCE at most. */
static inline float spacil_policy_self_test(void)
{{
    float largest = 0.0f, action[{num_actions}];
    for (int row = 0; row < {num_golden}; ++row) {{
        if (spacil_policy(spacil_policy_golden_observations + row * {num_states}, action))
            return INFINITY;
        for (int i = 0; i < {num_actions}; ++i) {{
            float off = action[i] - spacil_policy_golden_actions[row * {num_actions} + i];
            if (off < 0.0f) off = -off;
            if (!(off <= largest)) largest = off;
        }}
    }}
{loop_test}    return largest;
}}
#endif

#endif
"""

_LOOP = """\
/* The past that the policy sees. Reset it when an episode begins: nothing is on its way then, and
 * what was before is taken to be like the first observation. One for each robot. */
#define SPACIL_POLICY_NUM_SENSORS {num_sensors}
typedef struct {{
    int has_begun;
    float input[{num_states}]; /* this observation, commands, past observations: newest first */
}} spacil_policy_memory;

static inline void spacil_policy_reset(spacil_policy_memory *memory)
{{
    memory->has_begun = 0;
    for (int i = 0; i < {num_commands}; ++i)
        memory->input[{num_sensors} + i] = spacil_policy_clip(
            0.0f, spacil_policy_low[i % {num_actions}], spacil_policy_high[i % {num_actions}]);
}}

/* One observation of the sensors in, the command to give now out. Returns 0; or -1, with action and
 * memory left alone, if a number of the observation is NaN or infinite. */
static inline int spacil_policy_step(spacil_policy_memory *memory, const float *observation,
                                     float *action)
{{
    float *const commands = memory->input + {num_sensors}, *const past = commands + {num_commands};
    for (int i = 0; i < {num_sensors}; ++i)
        if (!spacil_policy_is_finite(observation[i])) return -1;
    for (int i = {num_past} - 1; i >= 0; --i)
        past[i] = !memory->has_begun     ? observation[i % {num_sensors}]
                  : i < {num_sensors} ? memory->input[i]
                                      : past[i - {num_sensors}];
    for (int i = 0; i < {num_sensors}; ++i) memory->input[i] = observation[i];
    memory->has_begun = 1;
    if (spacil_policy(memory->input, action)) return -1;
    for (int i = {num_commands} - 1; i >= 0; --i)
        commands[i] = i < {num_actions} ? action[i] : commands[i - {num_actions}];
    return 0;
}}

"""

_LOOP_TEST = """\
    spacil_policy_memory memory;
    spacil_policy_reset(&memory);
    for (int row = 0; row < {num_golden}; ++row) {{
        if (spacil_policy_step(&memory, spacil_policy_golden_observations + row * {num_states},
                               action))
            return INFINITY;
        for (int i = 0; i < {num_actions}; ++i) {{
            float off = action[i] - spacil_policy_golden_commands[row * {num_actions} + i];
            if (off < 0.0f) off = -off;
            if (!(off <= largest)) largest = off;
        }}
    }}
"""


def c_header(
    policy: GaussianPolicy,
    observations: NDArray[np.float32],
    actions: NDArray[np.float32],
    facts: Mapping[str, Any],
    tolerance: float,
    layout: Layout | None = None,
    commands: NDArray[np.float32] | None = None,
) -> str:
    """The text of the header; `actions` of `predict` for some `observations` are its self-test.

    Where the policy sees its past, `commands` are what it gives in a loop, one after the other, for
    the sensors' part of these observations.
    """
    # Printable ASCII without trigraphs: whatever a file says a task is called stays in its line.
    name = re.sub(r"[^ -~]|[?\\]", "_", facts.get("task") or "unknown")[:200]
    dt = facts.get("control_dt_seconds")
    arrays, layers = arrays_of(policy)
    calls = []
    for i, (weight, bias) in enumerate(layers, start=1):
        arrays |= {f"weights_{i}": weight.T, f"biases_{i}": bias}
        # Two scratch arrays take turns: layer 1 reads a and writes b.
        source, target = "ab" if i % 2 else "ba"
        (num_outputs, num_inputs), names = weight.shape, f"spacil_policy_weights_{i}"
        calls.append(
            f"    spacil_policy_layer({names}, spacil_policy_biases_{i}, "
            f"{source}, {num_inputs}, {target}, {num_outputs});"
        )
        if i < len(layers):
            calls.append(
                f"    for (int i = 0; i < {num_outputs}; ++i) "
                f"{target}[i] = spacil_policy_tanh({target}[i]);"
            )
    golden = {"golden_observations": observations, "golden_actions": actions}
    sizes = {"num_states": policy.num_states, "num_actions": policy.num_actions}
    sizes["num_golden"] = len(observations)
    loop = loop_test = ""
    if layout is not None and commands is not None:
        golden["golden_commands"] = commands
        parts = ("num_sensors", "num_commands", "num_past")
        sizes |= dict(zip(parts, layout.widths, strict=True))
        loop, loop_test = _LOOP.format(**sizes), _LOOP_TEST.format(**sizes)
    return _TEMPLATE.format(
        loop=loop,
        loop_test=loop_test,
        # It cannot end the comment it stands in, nor begin another.
        title=f"The policy of {name.replace('*', '_')}",
        version=__version__,
        note=textwrap.fill(facts["note"], 98, initial_indent=" * ", subsequent_indent=" * "),
        task=json.dumps(name),
        policy_hash=facts["policy_sha256"],
        num_states=policy.num_states,
        num_actions=policy.num_actions,
        dt="" if dt is None else f"#define SPACIL_POLICY_DT {dt!r} /* seconds per action */\n",
        tolerance=c_float(tolerance),
        arrays="\n".join(_array(name, values) for name, values in arrays.items()),
        width=max(policy.num_states, *(len(bias) for _, bias in layers)),
        limit=c_float(CLIP),
        layers="\n".join(calls),
        last="ab"[len(layers) % 2],
        golden="\n".join(_array(name, values) for name, values in golden.items()),
        num_golden=len(observations),
    )


def _array(name: str, values: NDArray[np.float32]) -> str:
    numbers = [c_float(value) for value in np.ravel(values).tolist()]
    rows = range(0, len(numbers), _NUMBERS_PER_LINE)
    body = ",\n    ".join(", ".join(numbers[i : i + _NUMBERS_PER_LINE]) for i in rows)
    return f"static const float spacil_policy_{name}[{len(numbers)}] = {{\n    {body}\n}};"


def c_float(value: float) -> str:
    """A float constant of C that reads back as the same float32."""
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = f"{value:.9g}"
    return f"{text}f" if set(text) & set(".e") else f"{text}.0f"
