"""What verdicts and strengths mean, for `triage explain`; the words are those of the design."""

from __future__ import annotations

from msgspec import Struct

from triage.model.verdict import Strength, Verdict


class Term(Struct, frozen=True, kw_only=True):
    """One word of a verdict."""

    kind: str
    """`verdict` or `strength`."""
    meaning: str
    decided_by: tuple[str, ...]
    """What it takes for the word to be used."""
    not_said: tuple[str, ...]
    """What it does not say."""


TERMS: dict[str, Term] = {
    Verdict.REAL_BUG: Term(
        kind="verdict",
        meaning="The product breaks a promise that a correct test may rely on.",
        decided_by=(
            "a mechanism was seen in product code; a factor that flips the test never decides it",
            "the promise is one that the product makes: by its types, its documentation, or two of its own functions that disagree",
        ),
        not_said=("that the test is right in everything else",),
    ),
    Verdict.WRONG_TEST: Term(
        kind="verdict",
        meaning="The test would fail a correct product too.",
        decided_by=(
            "the mechanism was seen in test code: what it waits for, compares, leaves behind or takes for granted",
            "what could be the product's instead was looked for: to call a real bug a wrong test is the worst mistake here",
        ),
        not_said=("that the product has no fault",),
    ),
    Verdict.ENVIRONMENT: Term(
        kind="verdict",
        meaning="Neither the test nor the product decides it: something around them is missing, full or unreachable.",
        decided_by=("the environment's own word: the kernel's, the file system's, the import system's",),
        not_said=("that product and test behave well in such an environment",),
    ),
    Verdict.STABLE_PASS: Term(
        kind="verdict",
        meaning="It never failed, under whatever was varied, in as many trials as the page says.",
        decided_by=("the number of trials, which bounds the rate: 0 of 60 still allows 4.9%",),
        not_said=("that it never fails", "anything about factors that were not varied; the page lists them"),
    ),
    Verdict.STABLE_FAIL: Term(
        kind="verdict",
        meaning="It never passed, under whatever was varied, in as many trials as the page says.",
        decided_by=("the number of trials, which bounds the rate of passes",),
        not_said=("who is wrong: it is no flaky test, and its failure is to be read as it stands",),
    ),
    Verdict.UNDETERMINED: Term(
        kind="verdict",
        meaning="Nothing that was seen decides who is wrong. The page names the two best explanations and how to tell them apart.",
        decided_by=("no mechanism was seen, or two rules disagree, or the limits ended the experiment before",),
        not_said=("that nothing is known: the trigger may be established all the same",),
    ),
    Strength.ESTABLISHED: Term(
        kind="strength",
        meaning="Trigger and counterfactual were confirmed on fresh trials in fresh processes, and the mechanism was seen.",
        decided_by=(
            "a number of trials fixed beforehand, one exact test a claim",
            "an observation of the mechanism itself",
        ),
        not_said=("that there is no other cause as well",),
    ),
    Strength.SUPPORTED: Term(
        kind="strength",
        meaning="Statistics alone: the claim was confirmed on fresh trials, the mechanism was not seen.",
        decided_by=("a number of trials fixed beforehand, one exact test a claim",),
        not_said=("why the factor matters, and so who is wrong",),
    ),
    Strength.SUGGESTED: Term(
        kind="strength",
        meaning="Hints alone: nothing was confirmed.",
        decided_by=("what the traceback, the marks or the first trials look like",),
        not_said=("anything that may be acted on without looking further",),
    ),
    Strength.LATENT: Term(
        kind="strength",
        meaning="It needs something that this environment cannot do by itself: a free-threaded build, another date.",
        decided_by=("a failure that was brought about by what cannot happen here",),
        not_said=("that it happens to anybody who runs the tests here",),
    ),
}
