/* ---- Fourier transforms */

#define IND_OPS_FOURIER(X)                                                                                             \
    X(DFT_MATRIX, "_dft_matrix", "",                                                                                   \
      "n:int rows:int columns:int row_parts:int=2 column_parts:int=2 inverse:bool=false half:bool=false "              \
      "scale:float=1 dtype:dtype=f32",                                                                                 \
      1, "S")

#define IND_COMPOSITES_FOURIER(X)                                                                                      \
    X(FFT_R2C, "_fft_r2c", "self", "dim:ints normalization:int onesided:bool", 1, "Ef")                                \
    X(FFT_C2R, "_fft_c2r", "self", "dim:ints normalization:int last_dim_size:size", 1, "E")                            \
    X(FFT_C2C, "_fft_c2c", "self", "dim:ints normalization:int forward:bool", 1, "E")                                  \
    X(FFT_FFT, "fft_fft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                      \
    X(FFT_IFFT, "fft_ifft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_RFFT, "fft_rfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_IRFFT, "fft_irfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                  \
    X(FFT_HFFT, "fft_hfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                    \
    X(FFT_IHFFT, "fft_ihfft", "self", "n:size=none dim:int=-1 norm:str=none", 1, "E")                                  \
    X(FFT_FFT2, "fft_fft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                                \
    X(FFT_IFFT2, "fft_ifft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_RFFT2, "fft_rfft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_IRFFT2, "fft_irfft2", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                            \
    X(FFT_FFTN, "fft_fftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                                \
    X(FFT_IFFTN, "fft_ifftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_RFFTN, "fft_rfftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                              \
    X(FFT_IRFFTN, "fft_irfftn", "self", "s:sizes=none dim:ints=none norm:str=none", 1, "E")                            \
    X(FFT_FFTSHIFT, "fft_fftshift", "self", "dim:ints=none", 1, "E")                                                   \
    X(FFT_IFFTSHIFT, "fft_ifftshift", "self", "dim:ints=none", 1, "E")                                                 \
    X(FFT_FFTFREQ, "fft_fftfreq", "", "n:size d:float=1 dtype:dtype=f32", 1, "E")                                      \
    X(FFT_RFFTFREQ, "fft_rfftfreq", "", "n:size d:float=1 dtype:dtype=f32", 1, "E")
