"""Does a sentence give orders to the machine that reads it, instead of telling something?"""

import regex

from vademecum.text.late import late

# What such orders speak of: the reader's own instructions, replies, tools and memory.
_OWN = (
    r"(?:(?:all|any|the|these|those|your|my|previous|prior|above|earlier|preceding|foregoing"
    r"|existing|original|initial|other|system|developer|hidden|secret|safety|of|todas?|todos?"
    r"|as|os|las|los|suas?|seus?|tus?|sus?|anteriores|acima|previas?|de|do|del|sistema)\s+)*"
    r"(?:instructions?|prompts?|guidelines?|directives?|system\s+(?:message|text|rules)|context"
    r"|instruç(?:ão|ões)|instrucci(?:ón|ones)|diretrizes|directrices|comandos)"
)
_REPLY = (
    r"(?:your|the|each|every|this|sua|tua|tu|su|cada|a|la)\s+(?:\w+\s+)?"
    r"(?:response|reply|repl(?:y|ies)|answers?|output|completion|summary|resposta|saída|respuesta"
    r"|salida)"
)
_SAY = (
    r"say|reply|respond|answer|print|output|write|repeat|echo|return|type|state|mention|reveal"
    r"|show|display|tell|include|insert|append|prepend|add|end|start|begin|finish|render|produce"
    r"|diga|dizer|responda|escreva|imprima|repita|mencione|revele|mostre|inclua|adicione|insira"
    r"|di|dí|responde|escribe|imprime|repite|menciona|revela|muestra|incluye|añade|agrega"
)
_ORDERS = late(
    rf"""
    \b(?:ignor[ea]r?|disregard|forget|override|bypass|skip|discard|desconsider[ea]r?|esque[çc]a
        |olvid[ae]|anul[ea]|descart[ea])\b[^.!?\n]{{0,40}}\b{_OWN}
    | \b(?:ignor[ea]|disregard|forget|override|desconsidere|esqueça|olvida)\s+(?:the|all|every|as
        |os|todas\s+as|las|los|todas\s+las|any)\s+(?:\w+\s+){{0,2}}(?:rules|above|previous|regras
        |reglas|acima|anterior\w*)\b
    | \b(?:new|updated|important|urgent|novas?|nuevas?)\s+(?:\w+\s+){{0,2}}(?:instructions?
        |instruções|instrucciones|directives?)\b\W
    | \b(?:{_SAY})\b[^.!?\n]{{0,80}}\b(?:in|with|to|at\s+the\s+(?:end|start)\s+of|em|na|no|en|con
        |com|a)\s+{_REPLY}
    | \b(?:in|at\s+the\s+(?:end|start)\s+of|em|na|en)\s+{_REPLY}\b[^.!?\n]{{0,40}}\b(?:{_SAY})\b
    | (?:^|[.!?:;\n]\s*)\p{{L}}+\s+{_REPLY}\b
    | \b(?:in|to|of|into)\s+your\s+(?:response|reply|answer|output)\b
    | \b(?:{_SAY})\s+(?:only|just|exactly|nothing\s+but|verbatim|apenas|somente|exatamente|solo
        |sólo|exactamente|the\s+following(?:\s+\w+){{0,3}}|o\s+seguinte|lo\s+siguiente)\b\s*[:,"“'«-]?
    | \b(?:{_SAY})\b[^.!?\n]{{0,40}}\b(?:canar(?:y|ies)|you\s+(?:were|have\s+been|are)\s+given)\b
    | \b(?:reply|respond|answer|responda|responde)\s+(?:with|com|con)\b
    | \b(?:reveal|print|show|output|repeat|display|leak|summari[sz]e|revele|mostre|imprima|repita
        |revela|muestra|imprime|repite)\b[^.!?\n]{{0,40}}\b(?:system\s+prompt|prompt\b|{_OWN}
        |your\s+rules|suas\s+regras|tus\s+reglas|(?:every|all)\s+(?:canary|secrets?))
    | \b(?:call|invoke|execute|run|use|chame|execute|llama|ejecuta)\s+(?:the\s+|a\s+|o\s+|el\s+)?
        (?:\w+\s+)?(?:tool|function|plugin|command|ferramenta|função|herramienta|función)s?\b
    | (?:^|[.!?:;,\n]\s*|\b(?:please|and|must|por\s+favor|e|y)\s+)
        (?:remember|memori[sz]e|lembre(?:-se)?|memorize|recuerda)\b[^.!?\n]{{0,20}}\b(?:that|from\s+now|in\s+(?:your\s+)?memory|que)\b
    | \b(?:in|to)\s+your\s+(?:long-term\s+)?memory\b
    | \b(?:you\s+are\s+now|from\s+now\s+on,?\s+you|act\s+as\s+(?:an?\s+)?(?:ai|dan|assistant)
        |in\s+developer\s+mode|você\s+agora\s+é
        |a\s+partir\s+de\s+agora,?\s+você|ahora\s+eres|a\s+partir\s+de\s+ahora,?\s+eres)\b
    | (?:^|\n)\s*(?:\#+\s*)?(?:SYSTEM|ASSISTANT|DEVELOPER)\s*(?:PROMPT|MESSAGE|NOTE)?\s*[:>\]]
    | \b(?:do\s+not|don't|never|não|no)\s+(?:tell|inform|alert|warn|conte|avise|digas)\s+
        (?:the\s+|ao\s+|al\s+)?(?:user|reader|anyone|usuário|usuario)
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
# Requests that a document may also make to people: "Write to the office."
_REQUEST = late(
    rf"\b(?:to|and|or|e|y|ou)\s+(?:output|answer|include|insert|append|reply|respond|print|repeat|reveal)\b|"
    rf"(?:^|[.!?:;>*\n]\s*|\b(?:please|por\s+favor|can\s+you|could\s+you)\s+)"
    rf"(?:{_SAY}|give|provide|create|draft|compose|develop|generate|explain|describe|summari[sz]e"
    rf"|translate|list|convert|compare|analy[sz]e|recommend|suggest|design|make|build|ensure"
    rf"|incorporate|use|utili[sz]e|try|consider|paste|share|put|encode|decode|perform|do|follow"
    rf"|feature|integrate|embed|place|apply|enrich|escreva|crie|gere|explique|traduza|liste|crea"
    rf"|genera|explica|traduce|enumera)\b",
    regex.IGNORECASE,
)
_ASKED = late(
    r"\b(?:instructions?|prompts?|injection|jailbreak\w*|orders?|commands?|instruç(?:ão|ões)"
    r"|instrucci(?:ón|ones)|injeç(?:ão|ões)|inyecci(?:ón|ones)|comandos?|órdenes|ordens)\b",
    regex.IGNORECASE,
)


def is_order(text: str) -> bool:
    """Return whether a text orders its reader to say, show, forget or do something, in English,
    Portuguese or Spanish. "Ignore the warning light" is advice to people, and no order here."""
    return _ORDERS.search(text) is not None


def is_request(text: str) -> bool:
    """Return whether a text asks its reader, people included, for something, or to do something."""
    return _REQUEST.search(text) is not None or text.rstrip().endswith(("?", "？", "؟"))


def asks_for_orders(question: str) -> bool:
    """Return whether a question is about instructions, so that quoting them may answer it."""
    return _ASKED.search(question) is not None


# Images load as soon as they are shown, and carry in their address whatever was put there.
_ACTIVE = late(
    r"!\[[^\]]*\]\s*[(\[]|<\s*/?\s*(?:script|img|svg|iframe|object|embed|link|style|form|meta|base"
    r"|video|audio)\b|javascript:|data:text/html",
    regex.IGNORECASE,
)


def is_active(text: str) -> bool:
    """Return whether a text holds markup that acts by itself where it is shown."""
    return _ACTIVE.search(text) is not None
