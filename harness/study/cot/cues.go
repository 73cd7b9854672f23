package cot

// cue is the step type that a word hints at, "" for most words.
func cue(w string) string {
	switch w {
	case "xray", "radiograph", "radiographs", "radiography", "ct", "mri", "mr", "ultrasound", "ultrasonography", "sonography", "sonogram", "echocardiogram",
		"echocardiography", "endoscopy", "endoscopic", "colonoscopy", "gastroscopy", "bronchoscopy", "laparoscopy", "laparoscopic", "fundus", "oct", "dermoscopy", "dermoscopic",
		"histopathology", "histopathological", "histology", "histological", "microscopy", "micrograph", "mammogram", "mammography", "pet", "spect", "scintigraphy",
		"angiography", "angiogram", "fluoroscopy", "tomography", "scan", "film", "modality", "projection", "posteroanterior", "anteroposterior", "frontal", "photograph", "ecg", "electrocardiogram":
		return modality
	case "so", "therefore", "thus", "hence", "consequently", "conclude", "concludes", "conclusion", "concluding", "consistent", "suggest", "suggests", "suggesting", "suggestive",
		"indicate", "indicates", "indicating", "indicative", "diagnosis", "diagnose", "diagnosed", "diagnostic", "compatible", "confirm", "confirms", "confirming",
		"mean", "means", "meaning", "imply", "implies", "implying", "represent", "represents", "representing", "likely", "impression", "correspond", "corresponds", "favour", "favor", "favours", "favors",
		"present", "disease", "disorder", "syndrome", "abnormality", "effusion", "effusions", "atelectasis", "pneumothorax", "pneumonia", "cardiomegaly", "congestion", "edema", "oedema",
		"emphysema", "fracture", "fractures", "dislocation", "cancer", "tumor", "tumour", "malignancy", "malignant", "benign", "metastasis", "metastases", "haemorrhage", "hemorrhage",
		"infarct", "infarction", "ischemia", "ischaemia", "stroke", "infection", "abscess", "cyst", "polyp", "ulcer", "glaucoma", "cataract", "retinopathy":
		return conclusion
	case "treatment", "treat", "treated", "therapy", "recommend", "recommends", "recommended", "recommendation", "management", "manage", "followup", "surgery", "surgical",
		"complication", "complications", "prognosis", "prognostic", "drainage", "antibiotics", "biopsy", "monitor", "monitoring", "intervention", "caused", "causes", "cause", "aetiology", "etiology", "function", "referral":
		return other
	case "opacity", "opacities", "opacification", "density", "dense", "densities", "lucency", "lucent", "blunted", "blunting", "blunts", "obscured", "obscures", "obscuring", "shadow", "shadows", "shadowing",
		"enlarged", "enlargement", "widened", "widening", "wider", "lesion", "lesions", "mass", "masses", "nodule", "nodules", "contour", "contours", "margin", "margins", "silhouette", "bright", "brighter", "dark", "darker",
		"signal", "hyperintense", "hypointense", "hyperdense", "hypodense", "hyperechoic", "hypoechoic", "swelling", "angle", "edge", "edges", "border", "borders", "shape", "irregular", "diameter",
		"colour", "color", "texture", "line", "lines", "tip", "streak", "streaks", "band", "bands", "patch", "patches", "patchy", "layer", "zone", "haze", "hazy", "blurred", "blurs", "sharp", "pale", "grey", "white", "black",
		"reveals", "demonstrates", "feature", "features", "finding", "findings", "located", "vessels", "lungs", "heart", "tube", "catheter":
		return feature
	}
	return ""
}
