"""The sources that docstrings, verdicts and tables cite by key."""

import re
from types import MappingProxyType

BIBLIOGRAPHY = MappingProxyType(
    {
        "BSS91": (
            "K. Birman, A. Schiper, P. Stephenson. Lightweight causal and atomic group multicast. ACM Transactions on "
            "Computer Systems 9(3), 1991."
        ),
        "CMT96": (
            "B. Charron-Bost, F. Mattern, G. Tel. Synchronous, asynchronous, and causally ordered communication. "
            "Distributed Computing 9(4), 1996."
        ),
        "DFLL23": (
            "C. Di Giusto, D. Ferré, L. Laversa, E. Lozes. A partial order view of message-passing communication "
            "models. POPL 2023."
        ),
        "DSU04": (
            "X. Défago, A. Schiper, P. Urbán. Total order broadcast and multicast algorithms: taxonomy and survey. ACM "
            "Computing Surveys 36(4), 2004."
        ),
        "EL87": (
            "E. A. Emerson, C.-L. Lei. Modalities for model checking: branching time logic strikes back. Science of "
            "Computer Programming 8(3), 1987."
        ),
        "KS98": (
            "A. D. Kshemkalyani, M. Singhal. Necessary and sufficient conditions on information for causal message "
            "ordering and their optimal implementation. Distributed Computing 11(2), 1998."
        ),
        "Kup": "L. Kuper. An example run of a matrix-based causal unicast protocol. Blog post, 2022.",
        "Lam78": "L. Lamport. Time, clocks, and the ordering of events in a distributed system. CACM 21(7), 1978.",
        "MF": (
            "F. Mattern, S. Fünfrocken. A non-blocking lightweight implementation of causal order message delivery. "
            "Technical report TR-VS-95-01, Technical University of Darmstadt, 1995."
        ),
        "MG": (
            "V. V. Murty, V. K. Garg. Synchronous message passing. Technical report ECE-PDS-93-01, University of "
            "Texas at Austin, 1993."
        ),
        "RST91": (
            "M. Raynal, A. Schiper, S. Toueg. The causal ordering abstraction and a simple way to implement it. "
            "Information Processing Letters 39, 1991."
        ),
        "SA": (
            "C. Sánchez, Á. Álvarez. A lightweight asynchronous algorithm for causal delivery using extra message "
            "insertion."
        ),
        "SES": "A. Schiper, J. Eggli, A. Sandoz. A new algorithm to implement causal ordering. WDAG 1989.",
    }
)

#: The five papers whose claims are in the ledger, by the prefix of the claims' ids: authors and subject.
PAPERS = MappingProxyType(
    {
        "MF": "Mattern & Fünfrocken: the buffer protocol",
        "SES": "Schiper, Eggli & Sandoz: vector pairs",
        "MG": "Murty & Garg: synchronous message passing",
        "KU": "Kuper: causal unicast, the matrix protocol by example",
        "SA": "Sánchez & Álvarez: extra messages",
    }
)


def references(text: str) -> list[str]:
    """The sources that a text cites, such as ``[MG] V. V. Murty, …``, sorted by key."""
    cited = set(re.findall(r"\[(\w+)\]", text))
    return [f"[{key}] {source}" for key, source in sorted(BIBLIOGRAPHY.items()) if key in cited]
