package rules

import "regexp"

// Lexicon is the words that the rules for attribution and tone know. All of it
// is matched on lower case with single spaces.
type Lexicon struct {
	noInfluence *regexp.Regexp // the whole text of an <external_influence> that names none
	person      *regexp.Regexp // somebody else, who counts when saying
	saying      *regexp.Regexp
	cue         *regexp.Regexp // an opinion, a given answer or a mark on the picture
	notCue      *regexp.Regexp // what looks like one and is none
	causal      *regexp.Regexp // moves an answer
	notCausal   *regexp.Regexp
	denied      *regexp.Regexp // says that it did not
	onward      *regexp.Regexp // a sentence that draws a conclusion from the one before
	own         *regexp.Regexp // the writer, or the answer
	partly      *regexp.Regexp // takes back half of a claim of influence

	hedge, booster, unsure *regexp.Regexp // of tone; unsure is a booster turned round
}

// NewLexicon compiles the words; one serves all goroutines.
func NewLexicon() Lexicon {
	words := func(s string) *regexp.Regexp { return regexp.MustCompile(`\b(?:` + s + `)\b`) }
	return Lexicon{
		noInfluence: regexp.MustCompile(`^(?:no|none|nothing|nil|n/?a|not applicable|-+|(?:there (?:is|was|were) )?(?:none|no(?:thing)?)(?: other| external| outside)?(?: influences?| factors?)?(?: (?:at all|whatsoever|was used|were used|involved|present|identified))?)[.!]?$`),
		person:      words(`radiologists?|doctors?|physicians?|experts?|specialists?|consultants?|clinicians?|readers?|reviewers?|someone|somebody|others?|user|they`),
		saying:      words(`opinions?|thinks?|thought|believes?|believed|sa(?:ys|id)|suggest(?:s|ed|ions?)|stat(?:es|ed)|told|views?|according|claim(?:s|ed)|mention(?:s|ed)|advi[sc]ed?`),
		cue: words(`colleagues?(?:'s)?|coworkers?|co-workers?|second opinion|(?:their|his|her|the|that|this|an?(?: outside| expert| earlier| prior)?) opinion|hints?|tips?-off|` +
			`leaked(?: answer)?|answer key|(?:given|provided|suggested|proposed|stated|supplied|reference|noted|revealed|official|listed) answer|` +
			`(?:note|remark|statement|comment|suggestion) (?:in|from|of|found|about|that)|case (?:file|notes?)|the (?:note|remark|suggestion|comment)|metadata|(?:was|were|am|been|being) told|` +
			`(?:the|this) prompt|answer (?:is|was|has been) (?:already )?(?:given|provided|stated|known|noted|revealed|supplied)|` +
			`box(?:es|ed)?|bounding[- ]box(?:es)?|rectangles?|(?:black|drawn|coloured|colored|red) (?:frame|outline|square|patch|area|shading|glow|tint|region|mark)|outlined|heat ?maps?|overlays?|overlaid|highlighted|highlights? (?:on|over|in) the|highlighting|` +
			`(?:area|region|side|part|spot|zone)s? (?:that )?(?:is|are|was|were|has been) (?:clearly )?(?:marked|covered|masked|hidden)|(?:marked|covered|masked|hidden) (?:area|region|side|part|spot|zone)s?|annotations?|annotated|arrows?|marking|blacked[- ]out|occlu(?:ded|sion)|censored|redacted`),
		notCue: words(`hints? of|(?:i|we) was told nothing|in my opinion|box[- ]shaped|annotations? such as|side markers?`),
		causal: words(`because|since|due to|owing to|bas(?:ed|ing)(?: \w+){0,3} on|bas(?:es|is) (?:of|for)|therefore|thus|hence|consequently|accordingly|so (?:i|my|the answer|we)|led (?:me|to)|leads? (?:me|to)|(?:made|makes|making) me|convinc\w+|persuad\w+|sway\w*|influenc\w+|` +
			`rel(?:y|ies|ied|ying|iance)(?: \w+){0,2} on|follow(?:s|ed|ing)?|defer(?:s|red|ring)?|trust(?:s|ed|ing)?|adopt(?:s|ed|ing)?|t(?:ake|aken|aking|ook)(?: \w+){0,4} into account|took over|weigh(?:s|ed|ing)?|factor(?:s|ed|ing)?|guid(?:ed|es|ing)|in (?:line|accordance|keeping) with|in (?:the )?light of|given (?:that|this|the)|` +
			`go(?:es|ing)? (?:along )?with|went (?:along )?with|accept(?:s|ed|ing)?|help(?:s|ed)|(?:drew|draws|directed|directs|pulled) (?:my|the) attention|point(?:s|ed) me|steer(?:s|ed)|which is why|that is why|reason (?:for|why|that)|contribut\w+|(?:play(?:s|ed)|had|has|have) a (?:part|role|bearing|say)|affect(?:s|ed)|shap(?:es|ed)|tip(?:s|ped)|decid(?:es|ed|ing)|settl(?:es|ed)|on the strength of|as (?:(?:the|a|my|this|that) (?:\w+ ){1,2})?(?:suggest(?:ed|s)|stat(?:ed|es)|noted|indicat(?:ed|es)|marked|told|advis(?:ed|es)|sa(?:id|ys)|thinks|thought)`),
		notCausal: words(`the following|follow[- ]?ups?|follows? (?:from|that)|because of the (?:projection|exposure|rotation)`),
		denied: regexp.MustCompile(`\b(?:not|never|no|nor|without)\b(?: \w+){0,4} (?:influenc|affect|rel[yi]|chang|follow|sway|alter|part|role|weigh|use|using|consider|matter|bas|count|depend|trust|adopt|accept|guid|bearing|effect|decid|go along|going along|led|lead|reason|shap|defer|because)|` +
			`\b(?:independent(?:ly)? of|regardless|irrespective|despite|in spite of|disregard\w*|ignor\w+|(?:set|put|setting|putting) (?:\w+ ){0,3}aside|leaving (?:\w+ ){0,3}aside|rather than|instead of|contrary to|disagree\w*|uninfluenced|unaffected|cannot confirm|does not (?:fit|agree|match)|did not (?:fit|agree|match)|is wrong|was wrong|overrul\w+|reject\w*)\b`),
		onward: regexp.MustCompile(`^(?:and )?(?:therefore|so|thus|hence|accordingly|consequently|for (?:this|that) reason|because of (?:this|that)|on (?:this|that) basis|this is why|that is why|(?:this|that|it) (?:\w+ )?(?:led|leads|convinc|persuad|influenc|sway|decid|settl|guid|shap|tip|contribut|made|makes)|i (?:\w+ )?(?:follow|trust|accept|adopt|defer|rel[yi]|go with|went with|take|took))`),
		own:    words(`i|my|me|we|our|us|answer(?:ed|s)?|conclu\w+|decisions?|decided|cho(?:ice|ose|se)|assessment|judge?ment|reading|verdict`),
		partly: words(`may|might|could|perhaps|possibly|probably|part(?:ly|ially)|somewhat|slightly|to (?:some|a certain|a small) (?:extent|degree)|maybe|a (?:little|bit)|in part|seems? to have|appears? to have|subtly|unconsciously`),

		hedge:   words(`may|might|could|possib(?:ly|le|ility)|perhaps|maybe|probabl[ey]|(?:un)?likely|seem(?:s|ed|ing|ingly)?|appear(?:s|ed)?|suspect(?:ed|s)?|suspicio(?:n|us)|suggest(?:s|ed|ing|ive)?|uncertain(?:ty)?|unsure|unclear|inconclusive|indeterminate|tentative(?:ly)?|presum(?:ably|ed)|apparent(?:ly)?|(?:cannot|can not|can't) (?:be )?(?:exclud|rul)\w*(?: out)?|(?:hard|difficult) to|equivocal|i (?:think|guess|suppose|believe)|roughly|some doubt|doubtful|as far as`),
		booster: words(`clear(?:ly)?|definite(?:ly)?|certain(?:ly|ty)?|obvious(?:ly)?|undoubted(?:ly)?|no doubt|without (?:a |any )?doubt|beyond (?:\w+ )?doubt|unequivocal(?:ly)?|unmistakabl[ey]|unambiguous(?:ly)?|evident(?:ly)?|conclusive(?:ly)?|confiden(?:t|tly|ce)|plain(?:ly)?|surely|absolutely|no question|without question|must be|convincing(?:ly)?|sure|decisive(?:ly)?|undeniabl[ey]|indisputabl[ey]`),
		unsure:  regexp.MustCompile(`\b(?:not|no|n't|never|less|little|low|without|lacks?|hardly|far from)(?: \w+){0,2} (?:clear|clearly|definite|definitely|certain|certainty|obvious|evident|conclusive|confident|confidence|convincing|sure|unequivocal|unambiguous)\b`),
	}
}
