"""A policy as one C header: C99 and C++11, no library, not even libm, and no memory allocated.

Numbers are printed with nine digits, which give the same float32 back. Weights stand column by
column, so that the inner loop runs over outputs: a compiler makes vector code of it without leave
to reorder sums, and every compiler adds in the same order. tanh is a fraction of two polynomials
for the same reason; the C library's would take most of the time.
"""

import itertools
import json
import textwrap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spacil.policies.plain_network import Floats, PlainNetwork

_NUMBERS_PER_LINE = 8

_TEMPLATE = """\
/* {title}
 *
{note}
 */
#ifndef SPACIL_POLICY_H
#define SPACIL_POLICY_H

#include <math.h>

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
        if (!isfinite(observation[i])) return -1;
        a[i] = (observation[i] - spacil_policy_shift[i]) * spacil_policy_scale[i];
        a[i] = spacil_policy_clip(a[i], -{limit}, {limit});
    }}
{layers}
    for (int i = 0; i < {num_actions}; ++i)
        action[i] = spacil_policy_clip({last}[i], spacil_policy_low[i], spacil_policy_high[i]);
    return 0;
}}

#ifdef SPACIL_POLICY_SELF_TEST
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
    return largest;
}}
#endif

#endif
"""


@dataclass(frozen=True)
class Golden:
    """States, and the actions that `predict` gives for them."""

    observations: Floats
    """[B, S]"""
    actions: Floats
    """[B, A]"""

    def first(self, count: int) -> "Golden":
        return Golden(self.observations[:count], self.actions[:count])


def c_header(
    network: PlainNetwork,
    golden: Golden,
    *,
    title: str,
    note: str,
    task: str | None,
    policy_hash: str,
    dt: float | None,
    tolerance: float,
) -> str:
    """The text of the header; `golden` becomes its self-test."""
    widths = [network.num_states, *(len(bias) for _, bias in network.layers)]
    arrays = {
        "shift": network.shift,
        "scale": network.scale,
        "low": network.action_low,
        "high": network.action_high,
    }
    for i, (weight, bias) in enumerate(network.layers, start=1):
        arrays |= {f"weights_{i}": weight.T, f"biases_{i}": bias}
    pairs = {"golden_observations": golden.observations, "golden_actions": golden.actions}
    return _TEMPLATE.format(
        title=_in_comment(title),
        note=textwrap.fill(_in_comment(note), 98, initial_indent=" * ", subsequent_indent=" * "),
        task=_c_string(task or "unknown"),
        policy_hash=policy_hash,
        num_states=network.num_states,
        num_actions=network.num_actions,
        dt="" if dt is None else f"#define SPACIL_POLICY_DT {dt!r} /* seconds per action */\n",
        tolerance=c_float(tolerance),
        arrays="\n".join(_array(name, values) for name, values in arrays.items()),
        width=max(widths),
        limit=c_float(network.limit),
        layers="\n".join(_layer(i, *sizes) for i, sizes in enumerate(_steps(widths), start=1)),
        last="ab"[len(network.layers) % 2],
        golden="\n".join(_array(name, values) for name, values in pairs.items()),
        num_golden=len(golden.observations),
    )


def _steps(widths: list[int]) -> list[tuple[int, int, bool]]:
    """(inputs, outputs, whether it is the last) of each layer."""
    pairs = list(itertools.pairwise(widths))
    return [(*pair, i == len(pairs) - 1) for i, pair in enumerate(pairs)]


def _layer(number: int, num_inputs: int, num_outputs: int, is_last: bool) -> str:
    """Two scratch arrays take turns: layer 1 reads a and writes b."""
    source, target = "ab" if number % 2 else "ba"
    arrays = f"spacil_policy_weights_{number}, spacil_policy_biases_{number}"
    call = f"    spacil_policy_layer({arrays}, {source}, {num_inputs}, {target}, {num_outputs});"
    if is_last:
        return call
    loop = f"    for (int i = 0; i < {num_outputs}; ++i)"
    return f"{call}\n{loop} {target}[i] = spacil_policy_tanh({target}[i]);"


def _array(name: str, values: NDArray[np.float32]) -> str:
    numbers = [c_float(value) for value in np.ravel(values).tolist()]
    rows = range(0, len(numbers), _NUMBERS_PER_LINE)
    lines = [", ".join(numbers[i : i + _NUMBERS_PER_LINE]) for i in rows]
    body = ",\n    ".join(lines)
    return f"static const float spacil_policy_{name}[{len(numbers)}] = {{\n    {body}\n}};"


def c_float(value: float) -> str:
    """A float constant of C that reads back as the same float32."""
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    text = f"{value:.9g}"
    return f"{text}f" if set(text) & set(".e") else f"{text}.0f"


def _c_string(text: str) -> str:
    """Plain ASCII: whatever a file says a task is called, it stays inside the quotes.

    JSON's escapes of quotes and backslashes are C's; `?` apart, of which C reads two as the start
    of a trigraph.
    """
    plain = "".join(letter if " " <= letter <= "~" and letter != "?" else "_" for letter in text)
    return json.dumps(plain[:200])


def _in_comment(text: str) -> str:
    """Plain ASCII that cannot end the comment it stands in."""
    plain = "".join(letter if " " <= letter <= "~" else "_" for letter in text)
    return plain.replace("*/", "* /").replace("?", "_").replace("\\", "_")
