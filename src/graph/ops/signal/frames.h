/* ---- window functions and short-time Fourier transforms */

#define IND_COMPOSITES_FRAMES(X)                                                                                       \
    X(HANN_WINDOW, "hann_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")                  \
    X(HAMMING_WINDOW, "hamming_window", "",                                                                            \
      "window_length:int periodic:bool=true alpha:float=0.54 beta:float=0.46 dtype:dtype=f32", 1, "E")                 \
    X(BLACKMAN_WINDOW, "blackman_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")          \
    X(BARTLETT_WINDOW, "bartlett_window", "", "window_length:int periodic:bool=true dtype:dtype=f32", 1, "E")          \
    X(KAISER_WINDOW, "kaiser_window", "", "window_length:int periodic:bool=true beta:float=12 dtype:dtype=f32", 1,     \
      "E")                                                                                                             \
    X(STFT, "stft", "input window?",                                                                                   \
      "n_fft:int hop_length:int=none win_length:int=none center:bool=true pad_mode:str=\"reflect\" "                   \
      "normalized:bool=false onesided:bool=true",                                                                      \
      1, "E")                                                                                                          \
    X(ISTFT, "istft", "input window?",                                                                                 \
      "n_fft:int hop_length:int=none win_length:int=none center:bool=true normalized:bool=false onesided:bool=true "   \
      "length:size=none",                                                                                              \
      1, "E")
