"""The paper's numbers that only its own pages show; its tables of return and J are in the package.

"Smooth Imitation Learning via Smooth Costs and Smooth Policies", Chaudhary and Ravindran,
arXiv 2111.02354. As printed; what does not fit together is listed in docs/paper_notes.md.
"""

from collections.abc import Mapping
from types import MappingProxyType

Printed = tuple[float, float]
"""Mean and one standard deviation"""

NOISE = (0.0, 0.1, 0.09, 0.05, 0.01, 0.001)
PERTURBATIONS: Mapping[str, tuple[tuple[Printed, ...], tuple[Printed, ...]]] = MappingProxyType(
    {
        "Reacher-v4": (
            ((-4.18, 1.79), (-163.44, 43.95), (-47.07, 11.08), (-30.12, 10.25), (-11.67, 2.18),
             (-12.35, 2.14)),
            ((2.69e-5, 2.02e-5), (14.42, 2.06), (1.02, 0.12), (0.29, 0.05), (8.67e-4, 1.79e-4),
             (3.72e-4, 7.85e-5)),
        ),
        "Hopper-v4": (
            ((3662.71, 39.27), (79.73, 73.48), (4.69, 0.033), (383.59, 313.75),
             (2644.44, 1207.97), (3667.35, 9.72)),
            ((7.77, 0.067), (18.24, 3.01), (18.34, 0.0162), (5.43, 0.13), (6.732, 0.27),
             (7.86, 0.19)),
        ),
        "Walker2d-v4": (
            ((4397.58, 6.92), (3.21, 2.81), (61.92, 53.04), (245.21, 119.8), (4199.56, 17.19),
             (4329.44, 10.69)),
            ((35.61, 0.067), (85.91, 1.06), (125.97, 6.06), (37.56, 1.60), (39.37, 1.1),
             (38.53, 0.12)),
        ),
        "HalfCheetah-v4": (
            ((4141.10, 93.84), (-743.56, 60.59), (-729.94, 242.07), (128.97, 141.52),
             (3642.23, 75.71), (4061.67, 75.59)),
            ((17.73, 0.11), (61.63, 6.72), (88.67, 33.76), (4.47, 2.03), (17.72, 0.19),
             (18.51, 0.21)),
        ),
        "Ant-v4": (
            ((4788.73, 75.18), (-4880.08, 1719.81), (-1454.50, 961.96), (1685.58, 482.09),
             (4561.18, 617.04), (4628.54, 893.13)),
            ((0.93, 0.09), (186.91, 74.77), (43.58, 27.72), (1.64, 2.27), (0.91, 0.07),
             (0.97, 0.04)),
        ),
    }
)  # fmt: skip
"""tab:perturbation: task -> return and J of the best SPaCIL model at each level of `NOISE`"""

REGULARIZATION: Mapping[str, Mapping[str, Printed]] = MappingProxyType(
    {"Hopper-v4": {"(0.001, 1)": (3642.76, 9.556), "(0, 1)": (3715.08, 68.67)}}
)
"""subsec:policy_vs_cost_regularization: weights -> return and J, the points that the text prints"""
