"""The native pool through its C interface."""

import gc

import mujoco
import numpy as np
import pytest

from spacil.envs.native_batch import NativeBatch, SimulationError

PENDULUM = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 1" size=".05"/>
    </body>
  </worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(PENDULUM)


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("has_contact_forces", [False, True])
def test_every_simulation_equals_a_loop_over_mj_step(model, num_threads, has_contact_forces):
    batch = NativeBatch(model, 5, num_threads, ("xpos",), has_contact_forces)
    datas = [mujoco.MjData(model) for _ in range(5)]
    for step in range(20):
        for i, data in enumerate(datas):
            data.ctrl[:] = batch.ctrl[i] = np.sin(step + i)
            mujoco.mj_step(model, data, nstep=3)
        batch.step(3)
        for i, data in enumerate(datas):
            assert np.array_equal(batch.qpos[i], data.qpos)
            assert np.array_equal(batch.qvel[i], data.qvel)
            assert np.array_equal(batch.derived["xpos"][i], data.xpos.ravel())


def test_only_the_chosen_simulations_move(model):
    batch = NativeBatch(model, 4, 2)
    batch.qvel[:] = 1.0
    batch.step(1, np.array([1, 3]))
    assert np.array_equal(batch.qpos[:, 0] != 0, [False, True, False, True])
    batch.step(1, np.array([], dtype=np.intp))
    assert np.array_equal(batch.qpos[:, 0] != 0, [False, True, False, True])


def test_a_reset_restores_the_models_start_and_clears_warnings(model):
    batch = NativeBatch(model, 2, 1)
    batch.qpos[1] = np.nan
    batch.qvel[0] = 1.0
    batch.step(1)
    assert batch.first_warning() == (1, "mjWARN_BADQPOS")
    batch.reset(np.array([1]))
    assert batch.first_warning() is None
    assert batch.qpos[1] == 0.0
    assert batch.qpos[0] == batch.qvel[0] * model.opt.timestep, "the other one goes on"


def test_an_error_in_mujoco_names_the_simulation(model):
    model.opt.integrator = 99
    batch = NativeBatch(model, 3, 2)
    with pytest.raises(SimulationError, match="integrator") as caught:
        batch.step(1, np.array([2]))
    assert caught.value.index == 2


def test_an_array_outlives_its_batch(model):
    qpos = NativeBatch(model, 1000, 2).qpos
    gc.collect()
    qpos[:] = 1.0
    assert qpos.sum() == 1000.0


def test_contact_forces_need_their_own_data(model):
    batch = NativeBatch(model, 2, 1, ("cfrc_ext",))
    batch.step(1)
    with pytest.raises(AssertionError, match="another simulation's contacts"):
        batch.compute_contact_forces()
