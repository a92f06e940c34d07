"""Predictors made of layers, which the experiments on images and sensors need; these need torch."""
