/* An exported policy in plain C: test it, then answer observations with actions, line by line.
 *
 *   spacil export Hopper-v4 -o robot
 *   cc -std=c99 -O3 -march=native -I robot control.c -o control
 *   ./control < observations.txt
 */
#define SPACIL_POLICY_SELF_TEST
#include <stdio.h>
#include "policy.h"

enum { S = SPACIL_POLICY_NUM_OBSERVATIONS, A = SPACIL_POLICY_NUM_ACTIONS };

/* Your sensors. Raw numbers, in the order and units that policy.json lists. */
static int read_sensors(float observation[S])
{
    for (int i = 0; i < S; ++i)
        if (scanf("%f", &observation[i]) != 1) return 0;
    return 1;
}

/* Your motors. The action is final: no scaling, no clipping, no noise. */
static void drive(const float action[A])
{
    for (int i = 0; i < A; ++i) printf("%.9g%c", (double)action[i], i + 1 < A ? ' ' : '\n');
}

int main(void)
{
    float observation[S], action[A] = {0};
    const float difference = spacil_policy_self_test();
    if (!(difference <= SPACIL_POLICY_TOLERANCE)) {
        fprintf(stderr, "self-test failed: off by %g; do not drive\n", (double)difference);
        return 1;
    }
    while (read_sensors(observation)) {
        if (spacil_policy(observation, action) != 0) /* NaN: a sensor is gone */
            fprintf(stderr, "no action for this observation: the last one is kept\n");
        drive(action);
    }
    return 0;
}
