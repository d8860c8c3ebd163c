"""Which datasets of an HDF5 file in D4RL's layout mean what."""

from spacil.demos.formats import flat_layout

SEAL = "metadata/spacil"
"""Our own exports: their document, as bytes. D4RL's readers skip what is under `metadata`."""

ALIASES = {
    **flat_layout.ALIASES,
    "infos/raw_actions": "raw_actions",
    "infos/qpos": "step_qpos",
    "infos/qvel": "step_qvel",
    "metadata/episode_lengths": "episode_lengths",
    "metadata/final_observations": "final_observations",
    "metadata/next_is_terminal": "next_is_terminal",
    "metadata/initial_qpos": "initial_qpos",
    "metadata/initial_qvel": "initial_qvel",
    SEAL: SEAL,
}
