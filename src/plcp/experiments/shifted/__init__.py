"""RxRx1's protocol: sets for experiments on which the predictor was not trained."""
