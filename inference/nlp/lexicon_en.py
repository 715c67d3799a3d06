"""English words by what they do in an answer: acts, states, problems, duties, outcomes, slogans, blame."""
# ruff: noqa: E501 - patterns and phrases are read entry by entry, not line by line

from __future__ import annotations

import re

from inference.nlp.lexicon import any_of, english, phrases

_IRREGULAR_PAST = any_of(
    phrases(
        "wrote|rewrote|built|rebuilt|made|took|ran|reran|found|set|cut|held|gave|met|spoke|drew|brought|taught|chose|split|"
        "put|kept|sent|told|began|drove|shipped|read|broke|shut|sold|bought|dug|led|let|got|went|sat|showed|swept|undid|"
        "stood|caught|fought|rang|hung|bound|fed|laid|wove|spent|paid|withdrew|redrew|overcame|understood|won|sought|did"
    )
)
_PRESENT = any_of(
    phrases(
        "listen|write|ask|test|check|review|measure|split|set|talk|explain|prepare|read|break|prioriti[se]|prioritise|prioritize|plan|make|"
        "start|build|use|put|keep|send|call|meet|draw|share|look|find|take|give|run|add|remove|cache|profile|design|discuss|agree|"
        "schedule|document|track|monitor|define|compare|follow|propose|suggest|offer|invite|teach|coach|delegate|focus|block|"
        "count|store|generate|convert|log|choose|pick|shard|partition|queue|return|reject|limit|fail|watch|hash|index|replicate|split|move|"
        "deploy|scale|create|implement|consider|separate|introduce|begin|go|let|apply|validate|encrypt|rotate|expose|handle|clarify|summarise|summarize|separate"
    )
)
# Past forms that say how somebody felt, was or spent the time, not what they did.
NON_ACTS = frozenset(
    phrases(
        "wanted|needed|liked|loved|hated|hoped|wished|tried|used|enjoyed|believed|learned|learnt|noticed|realised|realized|felt|"
        "lived|studied|graduated|seemed|appeared|looked|happened|worried|struggled|preferred|expected|cared|wondered|"
        "worked|joined|started|stayed|talked|travelled|traveled|remained|watched|supposed|existed|depended|leveraged|empowered|"
        "championed|synergised|synergized|cooked|played|attended|guessed|received|owned|remembered|missed|failed|liked|disagreed|"
        "got|went|let|sat|understood|did|won|spent|read|stood|indeed|need|feed|speed|lead|led|moved to|excited|interested|tired|"
        "motivated|bored|involved|concerned|supposed|based|experienced|dedicated|committed|complained|allowed|continued|succeeded|managed"
    )
)
ESCALATION = re.compile(
    r"\b(?:told|reported|complained to|went to|escalated|informed|emailed) (?:it |him |her |this |them )?(?:to )?(?:my|the|our) (?:manager|boss|supervisor|hr|lead|director)\b"
)
# Possessive: a row of adverbs can be read in one way only, however long it is.
_ADVERB = r"(?: (?:also|then|first|just|even|always|never|still|soon|later|next|already|[a-z]+ly)\b)*+"
_PAST = any_of(
    phrases(
        "wrote|rewrote|built|rebuilt|made|took|ran|reran|found|set|cut|held|gave|met|spoke|drew|brought|taught|chose|split|"
        "put|kept|sent|told|began|drove|shipped|read|broke|shut|sold|bought|dug|led|let|got|went|sat|showed|swept|undid|"
        "stood|caught|fought|rang|hung|bound|fed|laid|wove|spent|paid|withdrew|redrew|overcame|understood|won|sought|did"
    )
)
_PRESENT = any_of(
    phrases(
        "listen|write|ask|test|check|review|measure|split|set|talk|explain|prepare|read|break|prioriti[se]|prioritise|prioritize|plan|make|"
        "start|build|use|put|keep|send|call|meet|draw|share|look|find|take|give|run|add|remove|cache|profile|design|discuss|agree|"
        "schedule|document|track|monitor|define|compare|follow|propose|suggest|offer|invite|teach|coach|delegate|focus|block|"
        "count|store|generate|convert|log|choose|pick|shard|partition|queue|return|reject|limit|fail|watch|hash|index|replicate|split|move|"
        "deploy|scale|create|implement|consider|separate|introduce|begin|go|let|apply|validate|encrypt|rotate|expose|handle|clarify|summarise|summarize|separate"
    )
)
# Past forms that say how somebody felt, was or spent the time, not what they did.
NON_ACTS = frozenset(
    phrases(
        "wanted|needed|liked|loved|hated|hoped|wished|tried|used|enjoyed|believed|learned|learnt|noticed|realised|realized|felt|"
        "lived|studied|graduated|seemed|appeared|looked|happened|worried|struggled|preferred|expected|cared|wondered|"
        "worked|joined|started|stayed|talked|travelled|traveled|remained|watched|supposed|existed|depended|leveraged|empowered|"
        "championed|synergised|synergized|cooked|played|attended|guessed|received|owned|remembered|missed|failed|liked|disagreed|"
        "got|went|let|sat|understood|did|won|spent|read|stood|indeed|need|feed|speed|lead|led|moved to|excited|interested|tired|"
        "motivated|bored|involved|concerned|supposed|based|experienced|dedicated|committed|complained|allowed|continued|succeeded|managed"
    )
)
ESCALATION = re.compile(
    r"\b(?:told|reported|complained to|went to|escalated|informed|emailed) (?:it |him |her |this |them )?(?:to )?(?:my|the|our) (?:manager|boss|supervisor|hr|lead|director)\b"
)
_ADVERB = r"(?: (?:also|then|first|just|quickly|finally|even|immediately|personally|always|usually|simply|never|still|soon|later|next|only|already|[a-z]+ly|decided to|went and|sat down and|began to|started to|managed to|helped(?: to)?|get to|was able to|took the time to))*"
_PAST = rf"(?:(?:managed to|was able to|decided to|helped(?: to)?|began to|started to|chose to) [a-z]+|{_IRREGULAR_PAST}\b|[a-z]{{2,}}ed\b)"
ACT = re.compile(rf"\b(?P<who>i|we)(?:'ve| have| had| did)?{_ADVERB} (?P<verb>{_PAST})")
ACT_PLANNED = re.compile(
    rf"\b(?P<who>i|we|you)(?:'d|'ll| would| will| could| can| should| want to)?{_ADVERB} (?P<verb>{_PRESENT})\b"
    rf"|\b(?P<would>i|we)(?:'d| would){_ADVERB} (?!(?:like|love|be|have|say|rather|prefer|think|hope|want|not|never|never|feel|know|need|guess|enjoy)\b)[a-z]+"
)
ACT_FOLLOWING = re.compile(rf"^(?:and |then |but |or )*(?:also |then |[a-z]+ly )*(?P<verb>{_PAST})")
ACT_FOLLOWING_PLANNED = re.compile(rf"^(?:and |then |but |or )*(?:also |then )*(?P<verb>{_PRESENT})\b")
ACT_JOINED = re.compile(rf"\band (?:then |also )?(?P<verb>{_PAST})")
NEGATED_ACT = re.compile(r"\b(?:i|we) (?:did not|didn't|never|could not|couldn't|have not|haven't|had not)\b")
ROLE = re.compile(
    r"\bi (?:led|lead|managed|owned|run|ran|headed|supervised) (?:a|the|an|our|that|this) (?:\w+ )?(?:team|group|project|department|squad|shift|unit|effort)\b|"
    r"\b(?:as|was|am|work as|worked as) (?:a|an|the) (?:\w+[ -]){0,3}(?:lead|manager|engineer|developer|owner|head|nurse|teacher|analyst|coordinator|intern|designer|supervisor)\b|"
    r"\bi (?:was|am) (?:responsible|in charge|on call|accountable|assigned)\b|\bmy (?:task|job|role|part|responsibility|goal|duty) (?:was|is)\b|\bmine to\b"
)
TASK = re.compile(
    r"\b(?:i|we) (?:was|were|am) (?:responsible|in charge|asked|assigned|tasked|told|expected|required|brought in|hired|given|accountable|on call|the (?:only )?one)\b|"
    r"\bmy (?:task|job|goal|role|responsibility|duty|assignment|aim|mission|part|target|objective)\b.{0,30}?\b(?:was|to|is)\b|\b(?:the|our) (?:task|goal|aim|target|objective|challenge|mission|plan) (?:was|is)\b|"
    r"\b(?:i|we) (?:had|needed|have|wanted|was supposed|were supposed|set out|must|was going) to\b|\bi (?:took it on|volunteered|owned|took ownership|took charge|took responsibility|stepped in|stepped up)\b|"
    r"\b(?:asked|told|wanted|needed) me to\b|\bit was (?:my|on me|up to me|mine)\b|\bmine to\b|\bhad to be\b|\bput me in charge\b|\bgave me\b.{0,20}\b(?:task|job|weeks|days)\b|\bi am responsible\b"
)
SITUATION = re.compile(
    r"\b(?:in|at|during|for) my (?:last|previous|current|first|old|former|second|time|internship|job|company|team|studies|thesis|final|phd|degree)\b|\bat (?:the|a|an|our) [a-z -]{2,30}? where i\b|"
    r"\b(?:last|this|the previous|that) (?:year|month|week|spring|summer|autumn|fall|winter|quarter|january|february|march|april|may|june|july|august|september|october|november|december)\b|"
    r"\b(?:a|one|two|three|four|five|six|several|few|\d+) (?:years?|months?|weeks?|days?|quarters?) (?:ago|before|earlier|into)\b|\bwhen (?:i|we|our|the|my) \b|\bback (?:in|when|at)\b|\bin (?:19|20)\d\d\b|"
    r"\bonce\b|\bone (?:day|time|night|morning)\b|\bat the time\b|\bat (?:the|a|an|my) (?:[a-z]+ ){0,2}(?:hotel|bank|clinic|hospital|school|shop|store|restaurant|company|startup|university|agency|newspaper|factory|warehouse|firm)\b|"
    r"\bi (?:was|worked|started) (?:working )?(?:as|at|in|for)\b|\bi (?:noticed|saw|realised|realized|discovered|found out) (?:that|how|our|the)\b|\b(?:at|in) (?:university|school|college|work|uni)\b|\bwe had (?:this|a|an)\b|\bwhile i\b|\bas (?:a|an|the) (?:\w+ ){0,3}(?:lead|engineer|manager|intern|student|nurse|teacher|analyst|developer|assistant)\b"
)
PROBLEM = re.compile(
    r"\b(?:our|the|my|an?|some|one|their|her|his|its)\b.{2,40}?\b(?:was|were|had|kept|used to|is|are)\b"
    r"|\b(?:our|the|my|an?|this|that|some|one|their|her|his|its|nobody|everyone|they|she|he|it|i|we|customers?|users?|patients?|orders?|students?|"
    r"clients?|guests?|sales|everything|people)\b.{0,40}?\b(?:did not|didn't|never|could not|couldn't|wanted|disagreed|"
    r"complained|failed|failing|broke|crashed|timing out|timed out|lost|losing|dropped|dropping|moved|threatened|merged|quit|refused|"
    r"left|missed|suffered|ran out|stopped|demanded|insisted|waited|waiting|slow|late|angry|unhappy|upset|down|behind|short of|kept [a-z]+ing|shouted)\b"
)
_METRIC_MOVE = (
    r"(?:fell|dropped|rose|grew|went (?:down|up|from|live|well|smoothly|out|away)|decreased|increased|improved|shrank|doubled|tripled|halved|declined|climbed|"
    r"came (?:down|back|true)|got (?:faster|better|smaller|easier|cheaper|quicker)|stopped|disappeared|vanished|recovered|passed|succeeded|renewed|agreed|accepted|"
    r"adopted|approved|signed|thanked|praised|stayed|became|returned|finished|ended|worked|paid off|ran|dropped out|left us|left a|bought|loved|chose|"
    r"(?:is|are|was|were|been|has|have) (?:now )?(?:been )?(?:reduced|cut|fixed|solved|resolved|moved|approved|adopted|promoted|accepted|delivered|released|finished|completed|"
    r"launched|shipped|saved|happy|satisfied|pleased|faster|stable|still|able|closed|restored|merged|live|relieved|impressed|ready|gone|better|successful))"
)
OUTCOME = re.compile(
    rf"(?<!\bi )(?<!\bwe )\b{_METRIC_MOVE}\b"
    r"|\bwe(?: all| both| have| had)? (?:shipped|launched|delivered|released|finished|completed|hit|met|reached|exceeded|beat|won|saved|earned|went live|kept|passed|renewed|avoided|ended up|have run|retained|signed)\b"
    r"|\bi(?: have| had)? (?:finished|completed|delivered|reached|exceeded|beat|won|passed|ended up|hit|met the|got promoted|earned)\b"
)
OUTCOME_CUE = re.compile(
    r"\b(?:as a result|in the end|the (?:result|outcome|impact|effect) (?:was|is)|resulted in|resulting in|which (?:meant|led|cut|saved|reduced|improved|made|brought|gave|increased|allowed)|"
    r"(?:this|that|it) (?:meant|saved|cut|reduced|gave|allowed|let|made|led|brought|helped|worked|solved|fixed)|so that (?:it|we|they|this|the)|since then|ever since|eventually|"
    r"thanks to (?:that|this)|ended up|after that|afterwards|nowadays|to this day|(?:is|are) (?:now|still)|within (?:a|one|two|three|the|\d+) \w+|after (?:a|one|two|three|six|the|\d+) (?:\w+ )?(?:day|days|week|weeks|month|months|quarter|year))\b"
)
CHANGE = re.compile(
    r"\b(?:reduc|increas|cut|sav|improv|grew|grow|rais|rose|rise|brought|bring|lower|shorten|doubl|tripl|halv|dropp|drop|fell|fall|boost|decreas|gain|earn|lift|recover|shrank|went|reach|clos)[a-z]*\b"
)
SPECULATION = re.compile(
    r"\b(?:would|should|could|might|may|will|going to|hope|hopefully|i guess|maybe|probably|if)\b"
)
VAGUE = re.compile(
    r"\b(?:things?|stuff|something|somehow|whatever|and so on|etc|everything|anything|my best|hard work|work(?:ed)? hard|a lot of people|very important|many meetings|it depends|nothing special|always say|in general|this and that|part of life|(?:everyone|everybody|people|you|one) (?:should|needs? to|must)|i try to|i (?:think|believe|feel)(?: that)? (?:the|it|its|it's|a|every\w*|we|people|one|team\w*|communicat\w*|fail\w*|lead\w*|customers?|learning)\b.{0,40})\b"
)
BUZZ = english(
    "synergy|synergies|synergistic|leverage|leverages|leveraged|leveraging|passionate|passion|results-driven|results driven|results-oriented|"
    "think outside the box|thinking outside the box|stakeholder alignment|stakeholders|best-in-class|world-class|game changer|game-changing|proactive|"
    "dynamic|holistic|disruptive|paradigm|mindset|empower|empowers|empowering|empowered|value-add|added value|unlock|unlocks|unlocking|cutting-edge|state of the art|"
    "innovative|innovation|go-getter|team player|self-starter|detail-oriented|hard-working|excellence|transformation|transformational|visionary|strategic|"
    "cross-functional|alignment|ecosystem|impactful|actionable|low-hanging fruit|move the needle|win-win|core competencies|thought leader|bandwidth|"
    "growth mindset|continuous improvement|drive value|drives value|deliver value|delivers value|customer-centric|data-driven|agile|scalable solutions|next level|110 percent"
)
BLAME = re.compile(
    r"\b(?:lazy(?! load)|stupid|incompetent|idiots?|useless|careless|terrible|horrible|awful|toxic|arrogant|unprofessional|impossible to work with|(?:his|her|their) (?:own )?fault|"
    r"never (?:did (?:his|her|their)|listened|listens|helped|answered|showed up)|always (?:missed|late|complain\w*|wrong)|did(?: not|n't) (?:care|listen|do (?:his|her|their))|"
    r"(?:would not|wouldn't|refused to) (?:listen|help|do|work|cooperate)|bad at (?:his|her|their) job|had no idea what|my boss did nothing|blame (?:him|her|them))\b"
)
REASON = re.compile(
    r"\b(?:because|since|so that|in order to|that's why|that is why|the reason|as i|which (?:means|makes|is why)|due to|therefore|so (?:the|it|they|that|we|i|you|each|no|neither|nobody|only|nothing)|otherwise|thus)\b"
)
EXAMPLE = re.compile(
    r"\b(?:for example|for instance|such as|e\.g|like when|in my (?:current|last|previous)|at my (?:current|last|previous)|last (?:year|month|week)|once|in practice|imagine|say you|i(?:'d| would) use)\b"
)
CONTRAST = re.compile(
    r"\b(?:while|whereas|but|rather than|instead of|unlike|however|on the other hand|compared|than|although|both|without)\b"
)
TRADE_OFF = re.compile(
    r"\b(?:trade-?offs?|at the cost|the cost|downside|drawback|risk|rather than|instead of|on the other hand|however|if (?:the |a |one |it |redis |that )?[a-z ]{0,30}(?:is|goes|go|dies?|fails?|crash(?:es)?|gets?|down|empty|full|breaks?)\b|"
    r"fail(?:s|ure)? (?:open|closed|over)?|fallback|fall back|retry|retries|degrade|bottleneck|consisten(?:t|cy)|availability|limit(?:s|ed)?|hot ?spots?|hot keys?|race|atomic|idempotent|monitor|alert|watch)\b"
)
GOAL = re.compile(
    r"\b(?:goal|requirements?|we need|need to (?:handle|support|serve)|assume|clarify|depends on|expect(?:ed)? (?:load|traffic)|scale of|read-heavy|reads|how many|use case|first (?:i(?:'d| would) )?ask|users? (?:get|need))\b"
)
REFUSAL = re.compile(
    r"\b(?:i (?:really |honestly |just |actually )?(?:do not|don't|dont) (?:really )?know\b(?! (?:the exact|exactly|how many|if|whether|any|what|who))|no idea|not sure what to say|"
    r"(?:i )?(?:can't|cannot|can not|couldn't|could not) (?:really )?(?:think of|remember|recall|come up with|answer|say)|"
    r"(?:i'd|i would|i'll|i will) (?:rather|prefer) not|(?:i'd|i would) prefer not|(?:don't|do not) want to (?:answer|talk|say|discuss)|no comment|"
    r"(?:can|could|let) (?:we|you|us) (?:please )?(?:skip|move on|go to the next|pass)|(?:i'll |i will |let's |please )?(?:skip|pass)(?: (?:this|that|on this|on that|the question|it|one|this one|please))?$|next question|"
    r"(?:have|have got|i've|i've got|got) (?:nothing|no answer|no example|no examples)(?: to say)?|i have no (?:idea|clue|answer|example|experience)|nothing comes to mind|i am not (?:going to|willing to) answer|"
    r"i refuse|i never (?:make|made|had|have|fail|failed)|i have never (?:had|made|failed|been|done)|i've never (?:had|made|failed|been|done)|ask me something else|no clue|dunno|idk)\b"
)
POLITE = english(
    "sorry|please|thank you|thanks|hello|hi|good question|that is a good question|let me think|one moment|right now|hmm|well|okay|ok|yes|no|fine|good|nice|"
    "sure|i guess|i think|maybe|nothing|that one|to be honest|honestly|at the moment|great|hey|alright|really|interesting question"
)
GENERIC_PRAISE = english(
    "great company|good company|big company|nice company|famous company|leading company|well known|well-known|good benefits|great benefits|benefits|nice culture|great culture|good culture|"
    "good salary|more money|salary|good reputation|great reputation|reputation|good opportunity|great opportunity|opportunity to grow|opportunities|career growth|grow|nice office|good environment|"
    "stable|prestigious|market leader|nice people|close to home|new challenge|new challenges|a challenge|change of scenery|perks|great place|better opportunities|hard worker|work-life balance|perfectionist|work too hard|hard working|hard-working|team player|very motivated|motivated|fast learner|quick learner|detail-oriented|care too much"
)
GOAL_OF_SPEAKER = re.compile(
    r"\b(?:i (?:want|would like|'d like|hope|plan|aim|am looking|'m looking|wish|love|enjoy|care)|i'd (?:like|love)|my goal|i'm (?:looking|excited|interested)|i am (?:proud|good|excited|interested|drawn))\b"
)
OWN_PROOF = re.compile(
    r"\b(?:i have|i've|for the (?:last|past)|in my|i (?:used|use|built|wrote|write|run|ran|read|led|worked|work|made|brought|learned|studied|taught|started|moved|managed)|my (?:current|last|previous|thesis|team))\b"
)
SPECIFIC = re.compile(
    r"\b(?:your|you) (?:\w+ )?(?:publish|product|team|tool|tools|platform|api|app|paper|papers|blog|release|customers|mission|work on|work|maintain|open|engineering|incident|approach|research|users|data|service|library|project|projects|talk|docs|documentation|build|code|values|notes|design)\w*\b"
)
STANDING = re.compile(
    r"\b(?:now|today|nowadays|since then|instead of|has been|have been|hasn't|haven't|has not|have not|(?:only |still )?takes|runs in|is done in|to this day|still)\b"
)
EMPTY_ANSWER = frozenset(
    [
        "fine",
        "ok",
        "okay",
        "good",
        "yes",
        "no",
        "nothing",
        "maybe",
        "sure",
        "great",
        "nice",
        "well",
        "hmm",
        "yeah",
        "yep",
        "nope",
        "alright",
        "cool",
        "idk",
        "none",
        "n/a",
        "na",
    ]
)
FUNCTION_WORDS = frozenset(
    phrases(
        "a|about|after|all|also|an|and|any|are|as|at|be|because|been|before|but|by|can|could|did|do|"
        "does|each|every|few|for|from|get|got|had|has|have|he|her|him|his|how|i|if|in|into|is|it|its|"
        "just|me|more|my|no|not|of|off|on|one|or|our|out|over|own|she|so|some|than|that|the|their|them|"
        "then|there|they|this|to|too|under|up|us|very|was|we|were|what|when|where|which|while|who|will|"
        "with|would|yes|you|your|i'm|i've|i'd|it's|don't|didn't"
    )
)
